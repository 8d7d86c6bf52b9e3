/* paths.pml: tasks that stand in line on their paths, on a store in which transactions run side by side.
 *
 * Four tasks have paths that begin alike: a parent, two children that are siblings (or equal, with TWINS), and the parent's
 * path once more. A task draws a ticket, looks for the latest earlier ticket that conflicts with its path and
 * waits on that one; without any it holds its path and may be claimed. A claim looks at nothing but that. Who ends
 * looks again at those who waited on it: at one of them in the same transaction, and the rest is left to a durable
 * wave, which any sweeper takes up, one by one. Tasks retry and are reclaimed with their tickets; any process may die
 * inside a transaction (which then never was) or right after it. One task may give its ticket up (it would hold others
 * back for too long) and draws a new one later: those below it that waited then come after it, in their old order.
 *
 * One d_step is one statement under READ COMMITTED: it sees what others have committed, and what a transaction writes
 * is seen by others from its last d_step on, the commit. `locked` is the advisory lock on the slot of the paths, which
 * a transaction takes first and keeps until it ends; the ticket is drawn after it.
 *
 * Broken on purpose, one at a time, to show that the properties can fail:
 *   -DNO_LOCK            no lock at all
 *   -DLOCK_WHEN_TICKETED only who draws a ticket takes the lock, not who ends: wake-ups get lost
 *   -DTICKET_BEFORE_LOCK the ticket is drawn before the lock is there
 *   -DWAKE_IN_MEMORY     the process that ended a task remembers whom else to look at, instead of a wave
 *   -DNEXT_WITHOUT_LOOK  who waited on a task that ended may run, whoever else stands before it
 *   -DAWAY_FORGOTTEN     a ticket that is given up leaves no word for those who wait below it
 */

#ifndef SWEEPERS
#define SWEEPERS 2
#endif
#ifndef RETRIES
#define RETRIES 1       /* times that each task goes back to pending: a retry, a snooze, a lost claim */
#endif
#ifndef CRASHES
#define CRASHES 1       /* processes that die inside or right after a transaction, in all */
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 0      /* tickets that are given up, 0 or 1 */
#endif
#ifndef TWINS
#define TWINS 0         /* 1: the two children have the same path */
#endif
#define TASKS 4
#define TICKETS (2 * TASKS + 1)     /* each task's first, and a second one of all because of one that gave up */

mtype = { absent, waiting, holding, processing, away, behind, over };

/* The rows: what is committed. */
mtype state[TASKS] = absent;
byte ticket[TASKS];             /* 0: none */
byte waits_on[TASKS];           /* a ticket; 0: nobody */
byte was_ticket[TASKS];         /* the last one, of a task without any */
bit wave[TICKETS];              /* somebody may still wait on this ticket, which is gone */

/* The wave of the one task that gave its ticket up; TASKS: there is none. */
byte first = TASKS;
byte after_ticket;              /* those below it who stood after this ticket */
byte until_ticket;              /* and before this one come after it */
bit back;                       /* it has its new ticket, and they take theirs */

byte drawn;                     /* the sequence of tickets; no transaction takes a number back */
bit locked;
byte crashes = CRASHES;
byte give_ups = GIVE_UPS;

/* Read by assertions only: who has to be over before a task may run, one bit each. It is written by the rules of
 * DESIGN 7 at the moments when they say who comes after whom, and not by who waits on whom.
 */
byte before[TASKS];

/* Paths: 0 is a, 1 is a/b, 2 is a/c. */
#if TWINS
#define path(t) ((t == 1 || t == 2) -> 1 : 0)
#else
#define path(t) ((t == 1) -> 1 : ((t == 2) -> 2 : 0))
#endif
#define conflict(t, u) (t != u && (path(t) == 0 || path(u) == 0 || path(t) == path(u)))

#define below(t, u) (path(u) == 0 && path(t) != 0)
#define stood(t) (ticket[t] + was_ticket[t])
#define comes_after_first(t) (first < TASKS && below(t, first) && stood(t) > after_ticket && stood(t) < until_ticket \
                              && (state[t] == waiting || state[t] == behind))

#define all_over (state[0] == over && state[1] == over && state[2] == over && state[3] == over)

#ifdef NO_LOCK
#define lock_to_draw skip
#else
#define lock_to_draw d_step { !locked -> locked = 1 }
#endif
#if defined(NO_LOCK) || defined(LOCK_WHEN_TICKETED)
#define lock_to_end skip
#else
#define lock_to_end d_step { !locked -> locked = 1 }
#endif

/* The latest committed ticket before `own` that conflicts with the path of `t`; `gone` is dropped already. */
inline look(t, own, gone, latest) {
    latest = 0;
    each = 0;
    do
    :: each < TASKS ->
        if
        :: conflict(t, each) && ticket[each] < own && ticket[each] > latest && ticket[each] != gone ->
            latest = ticket[each]
        :: else
        fi;
        each++
    :: else -> break
    od;
    each = 0
}

/* Of those who wait on ticket `k`, the one with the earliest ticket (TASKS: nobody), and whether there are more. */
inline next_waiting(k, first, others) {
    first = TASKS;
    others = 0;
    each = 0;
    do
    :: each < TASKS ->
        if
        :: state[each] == waiting && waits_on[each] == k ->
            others = (first != TASKS);
            if
            :: first == TASKS -> first = each
            :: first != TASKS && ticket[each] < ticket[first] -> first = each
            :: else
            fi
        :: else
        fi;
        each++
    :: else -> break
    od;
    each = 0
}

/* DESIGN 7: at its draw a task comes after all conflicting tickets that are out, but those that come after it. */
inline order_at_draw(t) {
    each = 0;
    do
    :: each < TASKS ->
        if
        :: conflict(t, each) && ticket[each] != 0 && ticket[each] < ticket[t] && !(before[each] & (1 << t)) ->
            before[t] = before[t] | (1 << each)
        :: else
        fi;
        each++
    :: else -> break
    od;
    each = 0
}

/* DESIGN 7: a ticket that goes holds back nobody, but those of the same wave who stood after it. */
inline order_at_loss(t) {
    each = 0;
    do
    :: each < TASKS ->
        if
        :: comes_after_first(each) && (t == first || comes_after_first(t)) ->
            if
            :: t == first -> before[each] = before[each] | (1 << t)
            :: else
            fi
        :: else -> before[each] = before[each] & (255 - (1 << t))
        fi;
        each++
    :: else -> break
    od;
    each = 0
}

/* What came of a look, written at the commit. Who comes after the task that gave its ticket up gives its own up too,
 * and stands behind; those who waited on it are left to a wave.
 */
inline write_look(w, latest) {
    if
#ifndef AWAY_FORGOTTEN
    :: w < TASKS && comes_after_first(w) && state[w] == waiting ->
        order_at_loss(w);
        wave[ticket[w]] = 1;
        was_ticket[w] = ticket[w];
        ticket[w] = 0;
        waits_on[w] = 0;
        state[w] = behind
#endif
    :: else ->
        if
        :: w < TASKS && state[w] == waiting ->
            waits_on[w] = latest;
            if
            :: latest == 0 -> state[w] = holding
            :: else
            fi
        :: else
        fi
    fi
}

/* A ticket, and the place in line that comes with it. */
inline place(t, own, latest) {
    ticket[t] = own;
    was_ticket[t] = 0;
    waits_on[t] = latest;
    order_at_draw(t);
    if
    :: latest == 0 -> state[t] = holding
    :: else -> state[t] = waiting
    fi
}

/* Under the lock: this ticket goes, and the task will be back. Those who waited on it are left to a wave. */
inline give_up(t) {
    first = t;
    after_ticket = ticket[t];
    until_ticket = drawn + 1;
    back = 0;
    order_at_loss(t);
    before[t] = 0;
    wave[ticket[t]] = 1;
    ticket[t] = 0;
    state[t] = away
}

/* Of those who come after the first, the one that stood earliest; TASKS: nobody is left. */
inline next_after_first(earliest) {
    earliest = TASKS;
    each = 0;
    do
    :: each < TASKS ->
        if
        :: comes_after_first(each) && earliest == TASKS -> earliest = each
        :: comes_after_first(each) && earliest != TASKS && stood(each) < stood(earliest) -> earliest = each
        :: else
        fi;
        each++
    :: else -> break
    od;
    each = 0
}

inline claim(t) {
    state[t] = processing;
    each = 0;
    do
    :: each < TASKS ->
        if
        :: conflict(t, each) ->
            assert(state[each] != processing);          /* I7: two live claims never conflict */
            assert(ticket[each] == 0 || ticket[each] > ticket[t])   /* I7: conflicting tasks run in ticket order */
        :: else
        fi;
        assert(!(before[t] & (1 << each)) || state[each] == over);  /* I7: also where tickets were given up */
        each++
    :: else -> break
    od;
    each = 0
}

/* One batch of a wave. `goes_on` turns false when nobody else waits on that ticket any more. */
inline wake(k, goes_on) {
    d_step { next_waiting(k, who, more) };
    d_step {
        if
        :: who < TASKS -> look(who, ticket[who], k, found)
        :: else
        fi
    };
    d_step {
        goes_on = more;
        write_look(who, found);
        found = 0; who = 0; more = 0;
        locked = 0
    }
}

/* One task: who submits it, and the workers that claim it, one after the other. */
proctype Task(byte me) {
    byte mine, found, who, each, retries;
    bit more, left;

    /* The submit, or the settlement that spawns it; and once more after it gave its ticket up. */
line_up:
    true;
#ifdef TICKET_BEFORE_LOCK
    d_step { drawn++; mine = drawn };
    lock_to_draw;
#else
    lock_to_draw;
    d_step { drawn++; mine = drawn };
#endif
    d_step { look(me, mine, 0, found) };
    d_step {
        if
        :: me == first -> back = 1
        :: else
        fi;
        place(me, mine, found);
        found = 0;
        locked = 0
    };

    do
    :: d_step { state[me] == holding -> mine = ticket[me]; claim(me) };
        if
        :: d_step { retries < RETRIES -> retries++; state[me] = holding }   /* its ticket stays */
        :: d_step { give_ups > 0 -> give_ups-- }; lock_to_end; d_step { give_up(me); locked = 0 }; goto line_up
        :: lock_to_end;
            d_step { next_waiting(mine, who, more) };
            d_step {
                if
                :: who < TASKS -> look(who, ticket[who], mine, found)
                :: else
                fi
#ifdef NEXT_WITHOUT_LOOK
                ; found = 0
#endif
            };
            if
            :: d_step { crashes > 0 ->                  /* dies: nothing of the transaction was, and it is reclaimed */
                crashes--; found = 0; who = 0; more = 0; locked = 0; state[me] = holding }
            :: d_step {
                state[me] = over;
                ticket[me] = 0;
                write_look(who, found);
#ifdef WAKE_IN_MEMORY
                left = more;
#else
                wave[mine] = more;
#endif
                found = 0; who = 0; more = 0;
                locked = 0 };
                break
            fi
        fi
    od;
#ifdef WAKE_IN_MEMORY
    do
    :: !left -> break
    :: d_step { left && crashes > 0 -> crashes-- }; break               /* dies, and nobody else knows of it */
    :: left -> lock_to_end; wake(mine, left)
    od
#else
    skip
#endif
}

/* Maintenance, in every worker at once: it goes on where somebody's end, or a ticket given up, has left work. */
#define left_at(k) :: d_step { wave[k] -> gone = k }
active [SWEEPERS] proctype Sweeper() {
    byte gone, found, who, each;
    bit more;

end_idle:
    if
    left_at(1) left_at(2) left_at(3) left_at(4)
    left_at(5) left_at(6) left_at(7) left_at(8)
    :: d_step { back -> gone = 0 }
    fi;
    d_step { !locked -> locked = 1 };
    if
    :: d_step { gone != 0 && !wave[gone] -> locked = 0 }            /* somebody else finished it meanwhile */
    :: d_step { crashes > 0 -> crashes--; locked = 0 }
    :: d_step { gone != 0 && wave[gone] -> next_waiting(gone, who, more) };
        d_step {
            if
            :: who < TASKS -> look(who, ticket[who], gone, found)
            :: else
            fi
        };
        d_step {
            write_look(who, found);
            wave[gone] = more;
            found = 0; who = 0; more = 0;
            locked = 0
        }
    :: d_step { gone == 0 -> next_after_first(who) };
        d_step {
            if
            :: who < TASKS -> drawn++; look(who, drawn, ticket[who], found)
            :: else
            fi
        };
        d_step {
            if
            :: who < TASKS ->
                order_at_loss(who);
                if
                :: ticket[who] != 0 -> wave[ticket[who]] = 1
                :: else
                fi;
                place(who, drawn, found)
            :: else -> first = TASKS; back = 0; after_ticket = 0; until_ticket = 0
            fi;
            found = 0; who = 0;
            locked = 0
        }
    fi;
    d_step { gone = 0 };
    goto end_idle
}

/* A run that stops before every task has ended stops here: spin calls that an invalid end state. */
active proctype Everything() {
    all_over
}

init {
    atomic { run Task(0); run Task(1); run Task(2); run Task(3) }
}

ltl everything_ends { <> [] all_over }
