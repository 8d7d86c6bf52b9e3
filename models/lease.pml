/* lease.pml: who may work on a task, and for how long.
 *
 * Workers claim tasks under a lease and a fence, keep them by heartbeats, save half of the work in a checkpoint and
 * settle. What can go wrong may go wrong at any step: a worker is killed (kill -9), or stopped and goes on long after
 * its lease (SIGSTOP; here a process that spin does not run for a while), sends a settlement twice because the first
 * answer was lost, hands back what it had fetched because its invocation ends. Leases lapse whenever the clock likes,
 * several sweepers take back what is stale, a deadline passes, a person cancels.
 *
 * One d_step is one transaction of the store: the rows that it reads are held until it commits, so no other
 * transaction comes between. What a worker remembers between two transactions are its own variables.
 *
 * Broken on purpose, one at a time, to show that the properties can fail:
 *   -DNO_FENCE           a claim is judged by its task's state and lease alone
 *   -DUNGUARDED_CLAIM    a claim is decided in one transaction and written in the next, without looking again
 *   -DUNGUARDED_SWEEP    the same of a sweep
 *   -DLOSSES_UNCOUNTED   a lost claim leaves no trace: a task that kills its worker is tried for ever
 *   -DNO_DEADLINE        a snooze gives its attempt back, and no deadline comes nearer by it
 *   -DNO_SWEEP           nobody takes back what a dead worker held
 */

#ifndef TASKS
#define TASKS 1         /* 1, 2 or 4 */
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SWEEPERS
#define SWEEPERS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2      /* max_attempts: the last one that ends in an error is the task's end */
#endif
#ifndef LOSSES
#define LOSSES 2        /* claims that may be lost; the last one is the task's end, as poison */
#endif
#ifndef SNOOZES
#define SNOOZES 1       /* that fit before the task's deadline: each takes at least a second */
#endif
#ifndef STOPS
#define STOPS 1         /* invocations that end, or workers that die, between fetching a task and beginning it */
#endif
#define LEASE 2         /* ticks of the store's clock; 0 is lapsed */
#define BEATS 1         /* heartbeats until the invocation's limit, when the handler has to end */

/* The most claims that a task can get. */
#define CLAIMS (1 + (ATTEMPTS - 1) + (LOSSES - 1) + SNOOZES + STOPS)

mtype = { pending, processing, success, failed, cancelled };
mtype = { complete, error, snooze };

/* The rows of the tasks. */
mtype state[TASKS] = pending;
byte fence[TASKS];              /* number of the last claim */
byte lease[TASKS];              /* ticks left */
byte attempts[TASKS];
byte losses[TASKS];
byte snoozes[TASKS];
bit stage[TASKS];               /* 1 once the checkpoint is written */
bit overdue[TASKS];             /* the task's deadline has passed */

/* What a worker leaves behind on its machine: whether it died, and whether its handler had begun. */
bit holder_died[TASKS];
bit begun[TASKS];

byte stops = STOPS;

/* Read by assertions only. */
byte issued[TASKS];             /* highest fence that any claim got */
byte effects[TASKS];            /* parts of the work that took effect: the checkpoint's, then the rest */

#define live(t)      (state[t] == pending || state[t] == processing)
#define claimable(t) (state[t] == pending)
#define expired(t)   (state[t] == pending && overdue[t])
#define leased(t)    (lease[t] > 0)
#define stale(t)     (state[t] == processing && (lease[t] == 0 || holder_died[t]))
#define in_time(t)   (live(t) && !overdue[t])

/* Is the claim (t, f) current? Every transaction of a worker asks this. */
#ifdef NO_FENCE
#define current(t, f) (state[t] == processing && lease[t] > 0)
#else
#define current(t, f) (state[t] == processing && lease[t] > 0 && fence[t] == f)
#endif

/* The options of an `if` or `do`: for any task of which `what` holds, one transaction. */
#define option(t, what, ...) :: d_step { what(t) -> task = t; __VA_ARGS__ }
#if TASKS == 1
#define any(what, ...) option(0, what, __VA_ARGS__)
#define all_ended (!live(0))
#elif TASKS == 2
#define any(what, ...) option(0, what, __VA_ARGS__) option(1, what, __VA_ARGS__)
#define all_ended (!live(0) && !live(1))
#else
#define any(what, ...) option(0, what, __VA_ARGS__) option(1, what, __VA_ARGS__) \
                       option(2, what, __VA_ARGS__) option(3, what, __VA_ARGS__)
#define all_ended (!live(0) && !live(1) && !live(2) && !live(3))
#endif

/* The only way from one state to another. */
inline move(t, to) {
    assert(live(t));                                    /* I1: terminal states are final */
    state[t] = to;
    lease[t] = 0;
    holder_died[t] = 0;
    begun[t] = 0;
    if
    :: to != pending ->                                 /* nobody reads these again: fewer states to tell apart */
        attempts[t] = 0; losses[t] = 0; snoozes[t] = 0; stage[t] = 0; overdue[t] = 0; effects[t] = 0
    :: else
    fi
}

/* Back to pending, unless the deadline passed meanwhile: that is judged when the outcome of an attempt is known. */
inline again(t) {
    if
    :: overdue[t] -> move(t, failed)
    :: else -> move(t, pending)
    fi
}

/* In the two variants that claim for ever the numbers begin again at 1, so that spin can see the circle. */
#if defined(LOSSES_UNCOUNTED) || defined(NO_DEADLINE)
#define next(f) (f % CLAIMS + 1)
#else
#define next(f) (f + 1)
#endif

inline take(t, f) {
    assert(state[t] == pending);                        /* no second live claim of one task */
    assert(f > issued[t] && f <= CLAIMS);               /* fences grow, and claims are bounded (I6) */
    state[t] = processing;
    fence[t] = f;
    issued[t] = f;
    attempts[t]++;
    assert(attempts[t] <= ATTEMPTS);                    /* I6 */
    lease[t] = LEASE
}

/* The worker notes on its own machine that the handler begins. */
inline begin(t, f) {
    if
    :: state[t] == processing && fence[t] == f -> begun[t] = 1
    :: else
    fi
}

/* The operating system takes the worker away: it forgets everything, and the rows stay as they are. */
inline die(t, f) {
    if
    :: state[t] == processing && fence[t] == f -> holder_died[t] = 1
    :: else
    fi
}

inline heartbeat(t, f, told) {
    told = current(t, f);
    if
    :: told -> assert(f == fence[t]);                   /* I2: nothing is written under an older fence */
        lease[t] = LEASE
    :: else
    fi
}

inline checkpoint(t, f, from, told) {
    told = current(t, f);
    if
    :: told -> assert(f == fence[t]);                   /* I2 */
        assert(effects[t] == from && from == 0);        /* each part of the work takes effect once */
        effects[t] = 1;
        stage[t] = 1;
        from = 1;
        lease[t] = LEASE
    :: else
    fi
}

inline settle(t, f, from, event, told) {
    told = current(t, f);
    if
    :: told -> assert(f == fence[t]);                   /* I2 */
        if
        :: event == complete ->
            assert(effects[t] == from);                 /* each part of the work takes effect once */
            move(t, success)
        :: event == error && attempts[t] >= ATTEMPTS -> move(t, failed)
        :: event == error && attempts[t] < ATTEMPTS -> again(t)
        :: event == snooze ->
            attempts[t]--;
#ifndef NO_DEADLINE
            if
            :: snoozes[t] == SNOOZES -> overdue[t] = 1
            :: else -> snoozes[t]++
            fi;
#endif
            again(t)
        fi
    :: else
    fi
}

inline hand_back(t, f) {
    if
    :: current(t, f) -> assert(f == fence[t]);          /* I2 */
        attempts[t]--;
        move(t, pending)
    :: else
    fi
}

/* By a sweep. What a dead worker had fetched and not begun was not lost: it only gets its attempt back. */
inline take_back(t) {
    assert(stale(t));                                   /* nobody loses a live claim */
    attempts[t]--;
    if
    :: lease[t] > 0 && !begun[t] -> move(t, pending)
    :: else ->
#ifndef LOSSES_UNCOUNTED
        losses[t]++;
#endif
        if
        :: losses[t] >= LOSSES -> move(t, failed)       /* poison */
        :: else -> again(t)
        fi
    fi
}

#ifdef UNGUARDED_CLAIM
#define take_with_look(t, f) skip
#define take_later(t, f) d_step { take(t, f); from = stage[t] };
#else
#define take_with_look(t, f) take(t, f); from = stage[t]
#define take_later(t, f)
#endif

#ifdef UNGUARDED_SWEEP
#define sweep_with_look(t) skip
#define sweep_later(t) d_step { take_back(t); t = 0 }
#else
#define sweep_with_look(t) take_back(t); t = 0
#define sweep_later(t)
#endif

active [WORKERS] proctype Worker() {
    byte task, mine, beats;
    bit from, told;             /* the stage to go on from; whether the last transaction was accepted */
    mtype event;

end_idle:
    if
    any(claimable, mine = next(fence[task]); take_with_look(task, mine))
    fi;
    take_later(task, mine)
    if
    :: d_step { stops > 0 -> stops--; hand_back(task, mine) }   /* the invocation ends first */
    :: d_step { stops > 0 -> stops--; die(task, mine) }
    :: d_step { true -> begin(task, mine); told = 1 };
        do                                              /* the handler */
        :: d_step { told && beats < BEATS -> beats++; heartbeat(task, mine, told) }
        :: d_step { told && from == 0 -> checkpoint(task, mine, from, told) }
        :: d_step { told -> die(task, mine) }; break
        :: d_step { told -> event = complete; settle(task, mine, from, event, told) }; break
        :: d_step { told -> event = error; settle(task, mine, from, event, told) }; break
        :: d_step { told -> event = snooze; settle(task, mine, from, event, told) }; break
        :: !told -> break                               /* refused: it stops, and its result is dropped */
        od;
        if
        :: d_step { told && event != 0 ->               /* the answer got lost, and the worker asks again */
            settle(task, mine, from, event, told); assert(!told) }
        :: true
        fi
    fi;
    atomic { task = 0; mine = 0; beats = 0; from = 0; told = 0; event = 0; goto end_idle }
}

#ifndef NO_SWEEP
active [SWEEPERS] proctype Sweeper() {
    byte task;

end_idle:
    do
    any(stale, sweep_with_look(task)); sweep_later(task)
    any(expired, move(task, failed); task = 0)
    od
}
#endif

/* The store's clock. A lease may lapse however hard its worker tried: heartbeats only put it off. */
active proctype Clock() {
    byte task;

end_idle:
    do
    any(leased, lease[task]--; task = 0)
    od
}

/* At any moment a person may cancel a task, or the deadline of one may pass; or neither ever happens. */
active proctype Fate() {
    byte task;

    if
    any(live, move(task, cancelled); task = 0)
    any(in_time, overdue[task] = 1; task = 0)
    :: true
    fi
}

/* A run that stops before every task has ended stops here: spin calls that an invalid end state. */
active proctype Everything() {
    all_ended
}

ltl everything_ends { <> [] all_ended }
