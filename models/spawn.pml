/* spawn.pml: work that spawns work, in one lineage with a budget.
 *
 * Every task may ask for children of any key, at once (spawn_now) or together with its end. The guard looks at the
 * claim, the lineage, the depth, the identity, the budget and the fan-out, and creates the child, in the transaction
 * that holds the parent's row and the lineage's row. Meanwhile leases lapse, workers die or go on as zombies, sweeps
 * take tasks back, and at any moment somebody ends the lineage: its row first, its tasks one by one after that.
 *
 * One d_step is one transaction. Those that hold the lineage's row cannot overlap. A claim does not hold that row: it
 * is two steps here, the look at the lineage and the write, and `held` is the lock on the task's row between them.
 * How a task's own attempts and losses are counted is lease.pml's matter; here both are `tries`.
 *
 * Broken on purpose, one at a time, to show that the properties can fail:
 *   -DCHECK_THEN_INSERT  identity and budget are looked at in one transaction, and taken in the next
 *   -DNO_FENCE           the guard does not ask whether the parent's claim is current
 *   -DEND_UNSEEN         the guard goes by the lineage as it was when the task was claimed
 *   -DLIVE_ONLY          identities and budget count the tasks that live, not those that ever were; no limit of depth
 *   -DFOLLOW_SKIPS       who ends the tasks of an ended lineage passes over rows that somebody holds
 */

#ifndef BUDGET
#define BUDGET 3        /* tasks that the lineage may ever have, its two roots included; 3 or 4 */
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TRIES
#define TRIES 2         /* claims that may fail or be lost; the last one is the task's end */
#endif
#ifndef ASKS
#define ASKS 1          /* children that a handler asks for before its end; the end may ask for one more */
#endif
#ifndef DEPTH
#define DEPTH 1         /* max_spawn_depth; the roots are at 0 */
#endif
#ifndef FAN_OUT
#define FAN_OUT 2       /* children of one task, over all of its attempts */
#endif
#define KEYS 4          /* the roots have 0 and 1 */

mtype = { none, pending, processing, running, ended };

/* The rows of the tasks. A task that ended has left this table; its identity stays. */
mtype state[BUDGET] = none;
byte fence[BUDGET];
byte tries[BUDGET];
byte depth[BUDGET];
byte fan_out[BUDGET];
byte key[BUDGET];
bit leased[BUDGET];
bit held[BUDGET];               /* a claim has this row and has not written it yet */

/* The lineage's row, and its index of identities. */
mtype lineage = none;
byte created;
bit taken[KEYS];

#define live(t)      (state[t] != none)
#define claimable(t) (state[t] == pending && !held[t] && lineage == running)
#define lapsed(t)    (state[t] == processing && !leased[t])
#define lapsable(t)  (state[t] == processing && leased[t])

#ifdef NO_FENCE
#define current(t, f) (lineage == running)
#else
#define current(t, f) (state[t] == processing && leased[t] && fence[t] == f)
#endif

#ifdef END_UNSEEN
#define open 1
#else
#define open (lineage == running)
#endif

/* The options of an `if` or `do`: for any task of which `what` holds, one transaction. */
#define option(t, what, ...) :: d_step { what(t) -> task = t; __VA_ARGS__ }
#if BUDGET == 3
#define any(what, ...) option(0, what, __VA_ARGS__) option(1, what, __VA_ARGS__) option(2, what, __VA_ARGS__)
#define all_ended (!live(0) && !live(1) && !live(2))
#else
#define any(what, ...) option(0, what, __VA_ARGS__) option(1, what, __VA_ARGS__) \
                       option(2, what, __VA_ARGS__) option(3, what, __VA_ARGS__)
#define all_ended (!live(0) && !live(1) && !live(2) && !live(3))
#endif

/* Of the variant that spawns for ever the fences begin again at 1, so that spin can see the circle. */
#ifdef LIVE_ONLY
#define next(f) (f % (TRIES + 1) + 1)
#else
#define next(f) (f + 1)
#endif

inline end(t) {
    assert(live(t));
#ifdef LIVE_ONLY
    taken[key[t]] = 0;
    created--;
#endif
    state[t] = none;
    leased[t] = 0; tries[t] = 0; depth[t] = 0; fan_out[t] = 0; key[t] = 0
}

inline fail(t) {
    tries[t]++;
    if
    :: tries[t] >= TRIES -> end(t)
    :: else -> state[t] = pending; leased[t] = 0
    fi
}

/* The guard's question. `free` becomes the place of the new row. */
inline guard(t, k, free, allowed) {
    allowed = open && depth[t] < DEPTH && !taken[k] && created < BUDGET && fan_out[t] < FAN_OUT;
#ifdef LIVE_ONLY
    free = 0;
    do
    :: free < BUDGET && live(free) -> free++
    :: else -> break
    od
#else
    free = created
#endif
}

inline create(t, f, k, free) {
    assert(state[t] == processing && leased[t] && fence[t] == f);   /* I2: only a live claim has children */
    assert(lineage == running);                         /* nothing is spawned into an ended lineage */
    assert(!taken[k]);                                  /* I4, and with it I3 */
    assert(created < BUDGET);                           /* I5: never over by even one */
    assert(fan_out[t] < FAN_OUT && depth[t] < DEPTH);   /* I5 */
    taken[k] = 1;
    created++;
    fan_out[t]++;
    state[free] = pending;
#ifndef LIVE_ONLY
    depth[free] = depth[t] + 1;
#endif
    key[free] = k
}

/* Ask for one child. `told` turns false when the claim is refused; a child that is blocked refuses nothing. */
inline ask(t, f, k, free, allowed, told) {
    told = current(t, f) && open;
    allowed = 0;
    if
    :: told -> guard(t, k, free, allowed)
    :: else
    fi;
#ifdef CHECK_THEN_INSERT
}
inline insert(t, f, k, free, allowed, told) {           /* asks for the claim again, as every transaction does */
    allowed = allowed && current(t, f) && open;
#endif
    if
    :: allowed -> create(t, f, k, free)
    :: else
    fi
}

#ifdef CHECK_THEN_INSERT
#define spawn(k) :: d_step { told && asks < ASKS -> asks++; ask(task, mine, k, free, allowed, told) }; \
                    d_step { insert(task, mine, k, free, allowed, told); allowed = 0; free = 0 }
#define end_with(k) :: d_step { told -> ask(task, mine, k, free, allowed, told) }; \
                    d_step { insert(task, mine, k, free, allowed, told); settle(task, mine) }; break
#else
#define spawn(k) :: d_step { told && asks < ASKS -> asks++; ask(task, mine, k, free, allowed, told); \
                             allowed = 0; free = 0 }
#define end_with(k) :: d_step { told -> ask(task, mine, k, free, allowed, told); settle(task, mine) }; break
#endif

/* The end of a claim. Of an ended lineage the task ends here too, in vain. */
inline settle(t, f) {
    if
    :: state[t] == processing && leased[t] && fence[t] == f -> end(t)
    :: else
    fi
}

inline settle_error(t, f) {
    if
    :: state[t] == processing && leased[t] && fence[t] == f && lineage == running -> fail(t)
    :: state[t] == processing && leased[t] && fence[t] == f && lineage != running -> end(t)
    :: else
    fi
}

active [WORKERS] proctype Worker() {
    byte task, mine, asks, free;
    bit told, allowed;

end_idle:
    if
    any(claimable, held[task] = 1)                      /* FOR UPDATE SKIP LOCKED, and the lineage looked open */
    fi;
    d_step {
        assert(state[task] == pending);
        mine = next(fence[task]);
        fence[task] = mine;
        assert(mine <= TRIES);                          /* I6: claims are bounded */
        state[task] = processing;
        leased[task] = 1;
        held[task] = 0;
        told = 1
    };
    do
    spawn(0)
    spawn(2)
    :: d_step { told -> settle(task, mine) }; break
    end_with(2)
    end_with(3)
    :: d_step { told -> settle_error(task, mine) }; break
    :: told -> break                                    /* the worker dies */
    :: !told -> break                                   /* refused: it stops */
    od;
    atomic { task = 0; mine = 0; asks = 0; free = 0; told = 0; allowed = 0; goto end_idle }
}

/* The store's clock and the sweeps after it, in every worker at once. */
active proctype Sweeper() {
    byte task;

end_idle:
    do
    any(lapsable, leased[task] = 0; task = 0)
    any(lapsed, fail(task); task = 0)
    od
}

/* Somebody submits the roots, and at any moment somebody may end the lineage, or nobody ever does. From the end's commit
 * on nothing of it is claimed or spawned.
 */
active proctype Fate() {
    d_step {
        lineage = running;
        created = 2;
        state[0] = pending; key[0] = 0; taken[0] = 1;
        state[1] = pending; key[1] = 1; taken[1] = 1
    };
    if
    :: lineage = ended
    :: true
    fi
}

/* Its tasks follow, in order of number, each row once: whoever still holds one is waited for. */
active proctype Follower() {
    byte task;

end_idle:
    lineage == ended;
    do
    :: d_step { task < BUDGET && !held[task] ->
            if
            :: live(task) -> end(task)
            :: else
            fi;
            task++ }
#ifdef FOLLOW_SKIPS
    :: d_step { task < BUDGET && held[task] -> task++ }
#endif
    :: task == BUDGET -> break
    od
}

/* A run that stops before every task has ended stops here: spin calls that an invalid end state. */
active proctype Everything() {
    lineage != none && all_ended
}

ltl everything_ends { <> [] all_ended }
