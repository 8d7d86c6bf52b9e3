/* waits.pml: tasks that wait for others, by a join or since they were created.
 *
 * A parent spawns two children and an heir, which comes after both of them, and joins all three; in its next round it
 * joins one more child. An end that concerns more waiting tasks than one transaction writes leaves a row of wakes, and
 * claims take those off later. A child may fail: who waits for it may be skipped for that. A person revives what did
 * not succeed: it is waited for again by those that have not gone on, and brings back those that were skipped for it.
 * Claims lapse, and their workers go on as zombies.
 *
 * One d_step is one transaction, or the part of one that others cannot come between. All that changes a count holds the
 * lineage's row. A claim that lets tasks go on does not: it reads who may, takes that task's row, and reads again. Who
 * is to be skipped is read again under the lineage's lock, since another claim may bring back its cause. Acts of people
 * run alone, with no claim under way.
 *
 * Broken on purpose, one at a time, to show that the properties can fail:
 *   -DCOUNTER_LOST    an end marks its edge, and does not write the count of the heir
 *   -DCOUNTED_TWICE   who takes off what was left goes by the edges, and not by those of them that are live
 *   -DEDGE_FORGOTTEN  the heir is created with one of its two edges
 *   -DCLAIMED_EARLY   a claim lets go on who waits for one more task
 *   -DNOT_READ_AGAIN  a claim does not ask again whether the round is over
 *   -DSKIP_UNLOCKED   who is to be skipped is read before the lineage's lock, and written under it
 *   -DREVIVED_UNSEEN  a revived task is not waited for again
 *   -DFAILURE_KEPT    a revival asks only where it marks an edge who is still to be skipped for its task
 *   -DLEFT_SKIPPED    a revived task does not bring back who was skipped for it
 */

#ifndef ROUNDS
#define ROUNDS 2        /* joins of the parent; 1 or 2 */
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TOGETHER
#define TOGETHER 1      /* waiting tasks that one transaction takes off */
#endif
#ifndef REVIVALS
#define REVIVALS 2      /* by people, of any task that did not succeed */
#endif
#ifndef LOSSES
#define LOSSES 1        /* claims that lapse */
#endif
#define TASKS 5
#define PARENT 0
#define HEIR 3          /* the children are 1 and 2, and 4 in the second round */
#define NONE 9

mtype = { none, pending, waits, processing, success, failed, skipped };

/* The rows of the tasks. */
mtype state[TASKS] = none;
byte fence[TASKS];
byte losses;

/* ramet_waits, of the parent (0) and the heir (1). */
byte round;                     /* of the parent; of the heir there is one */
byte remaining[2];
byte waiting[2];                /* 1: it waits; 2: it ended while it waited */
byte failure[2] = NONE;         /* for which it is to be skipped, or was */
bit held[2];                    /* a claim has its task's row */

/* ramet_awaited: whether an edge is live. ramet_wakes: ends and revivals that are still to be followed. */
bit edge[10];                   /* of the parent the first five, of the heir the others */
bit wake_end[TASKS];
bit wake_back[TASKS];

byte claims;                    /* under way: people wait for them, and they for people */
bit people_done;
bit ran[3];                     /* for the assertions: the parent's rounds */

#define task_of(w)      (w == 0 -> PARENT : HEIR)
#define row_of(t)       (t == PARENT -> 0 : 1)
#define in_set(w, t)    ((w == 1 && (t == 1 || t == 2)) || (w == 0 && round == 1 && t >= 1 && t <= 3) || \
                         (w == 0 && round == 2 && t == 4))
#define live(t)         (state[t] == pending || state[t] == waits || state[t] == processing)
#define bad(t)          (state[t] == failed || state[t] == skipped)
#define waits_for(w, t) (in_set(w, t) && live(t))
#define set_over(w)     (!waits_for(w, 1) && !waits_for(w, 2) && !waits_for(w, 3) && !waits_for(w, 4))
#define set_bad(w)      ((in_set(w, 1) && bad(1)) || (in_set(w, 2) && bad(2)) || (in_set(w, 3) && bad(3)) || \
                         (in_set(w, 4) && bad(4)))
#define first_bad(w)    (in_set(w, 1) && bad(1) -> 1 : (in_set(w, 2) && bad(2) -> 2 : (in_set(w, 3) && bad(3) -> 3 : \
                        (in_set(w, 4) && bad(4) -> 4 : NONE))))

#ifdef CLAIMED_EARLY
#define EARLY 1
#else
#define EARLY 0
#endif
#define over(w)         (waiting[w] == 1 && (remaining[w] <= EARLY || failure[w] != NONE))
#define current(t, f)   (state[t] == processing && fence[t] == f)

#define all_over        (!live(0) && !live(1) && !live(2) && !live(3) && !live(4))
#define no_wakes        (!wake_end[0] && !wake_end[1] && !wake_end[2] && !wake_end[3] && !wake_end[4] && \
                         !wake_back[0] && !wake_back[1] && !wake_back[2] && !wake_back[3] && !wake_back[4])
#define all_ended       (people_done && state[PARENT] != none && all_over && no_wakes)

inline count_off(w, t) {
    if
    :: waiting[w] && in_set(w, t) ->
        assert(remaining[w] > 0);
#ifdef COUNTER_LOST
        if
        :: w == 0 -> remaining[w]--
        :: else
        fi;
#else
        remaining[w]--;
#endif
        if
        :: waiting[w] == 1 && failure[w] == NONE && bad(t) -> failure[w] = t
        :: else
        fi
    :: else
    fi
}

inline take_off(w, t) {
    if
    :: edge[w * TASKS + t] -> edge[w * TASKS + t] = 0; count_off(w, t)
    :: else
    fi
}

inline end(t, how) {
    assert(live(t));
    state[t] = how;
    if
    :: edge[t] + edge[TASKS + t] > TOGETHER -> wake_end[t] = 1
    :: else -> take_off(0, t); take_off(1, t)
    fi
}

/* It is waited for again; a row that was skipped or failed itself waits for the rest. */
inline wait_again(w, t) {
#ifndef REVIVED_UNSEEN
    if
    :: in_set(w, t) && waiting[w] && !edge[w * TASKS + t] ->
        edge[w * TASKS + t] = 1;
        remaining[w]++;
#ifdef FAILURE_KEPT
        if
        :: waiting[w] == 1 -> failure[w] = first_bad(w)
        :: else
        fi
    :: else
    fi
#else
    :: else
    fi;
    if
    :: waiting[w] == 1 && failure[w] == t -> failure[w] = first_bad(w)
    :: else
    fi
#endif
#else
    skip
#endif
}

inline revive(t) {
    assert(bad(t));
    state[t] = pending;
    wait_again(0, t);
    wait_again(1, t);
    wake_end[t] = 0;
    wake_back[t] = 0;
    if
    :: (t == PARENT || t == HEIR) && waiting[row_of(t)] == 2 ->
        state[t] = waits;
        waiting[row_of(t)] = 1;
        failure[row_of(t)] = first_bad(row_of(t))
    :: else
    fi;
#ifndef LEFT_SKIPPED
    if
    :: (waiting[0] == 2 && failure[0] == t) || (waiting[1] == 2 && failure[1] == t) -> wake_back[t] = 1
    :: else
    fi
#endif
}

/* Claims follow what was left: an end for one waiting task, a revival for all that were skipped for it. */
inline follow_end(t) {
#ifdef COUNTED_TWICE
    count_off(0, t);
    count_off(1, t);
    if
    :: edge[t] -> edge[t] = 0
    :: else -> edge[TASKS + t] = 0
    fi;
#else
    if
    :: edge[t] -> take_off(0, t)
    :: else -> take_off(1, t)
    fi;
#endif
    wake_end[t] = edge[t] || edge[TASKS + t]
}

inline follow_back(t) {
    wake_back[t] = 0;
    if
    :: waiting[1] == 2 && failure[1] == t && state[HEIR] == skipped -> revive(HEIR)
    :: else
    fi;
    if
    :: waiting[0] == 2 && failure[0] == t && state[PARENT] == skipped -> revive(PARENT)
    :: else
    fi
}

inline await(w, t) { edge[w * TASKS + t] = live(t); remaining[w] = remaining[w] + live(t) }

/* The parent's settlement: it spawns and joins, or ends. */
inline settle_parent() {
    assert(!ran[round]);                                /* each round is run once */
    ran[round] = 1;
    if
    :: round == ROUNDS -> end(PARENT, success)
    :: else ->
        round++;
        remaining[0] = 0;
        if
        :: round == 1 ->
            state[1] = pending; state[2] = pending; state[HEIR] = waits;
            waiting[1] = 1;
            await(1, 1);
#ifndef EDGE_FORGOTTEN
            await(1, 2);
#endif
            await(0, 1); await(0, 2); await(0, HEIR)
        :: else -> state[4] = pending; await(0, 4)
        fi;
        waiting[0] = 1;
        failure[0] = NONE;
        state[PARENT] = waits
    fi
}

#define for_any(what, ...) \
    :: d_step { what(0) -> task = 0; __VA_ARGS__ } :: d_step { what(1) -> task = 1; __VA_ARGS__ } \
    :: d_step { what(2) -> task = 2; __VA_ARGS__ } :: d_step { what(3) -> task = 3; __VA_ARGS__ } \
    :: d_step { what(4) -> task = 4; __VA_ARGS__ }
#define claim_it(t)     :: d_step { state[t] == pending -> task = t; fence[t]++; mine = fence[t]; \
                                   state[t] = processing }; goto settle
#define left_end(t)     (wake_end[t])
#define left_back(t)    (wake_back[t])
#define lapsable(t)     (state[t] == processing && losses < LOSSES)
#define revivable(t)    (bad(t) && used < REVIVALS && !claims)

#ifdef NOT_READ_AGAIN
#define still(w)        1
#else
#define still(w)        over(w)
#endif

active [WORKERS] proctype Worker() {
    byte task, mine, row;

end_idle:
    do
    :: d_step { over(0) -> row = 0; claims++ }; break
    :: d_step { over(1) -> row = 1; claims++ }; break
    for_any(left_end, follow_end(task); task = 0)
    for_any(left_back, follow_back(task); task = 0)
    claim_it(0) claim_it(1) claim_it(2) claim_it(3) claim_it(4)
    od;

    if
    :: d_step { state[task_of(row)] == waits && !held[row] && still(row) && failure[row] == NONE ->
            assert(set_over(row));                      /* nobody goes on before its set has ended */
            held[row] = 1 };
       d_step { state[task_of(row)] = pending; waiting[row] = 0; held[row] = 0 }
#ifdef SKIP_UNLOCKED
    :: d_step { state[task_of(row)] == waits && !held[row] && still(row) && failure[row] != NONE -> held[row] = 1 };
       d_step { held[row] = 0;
#else
    :: d_step { state[task_of(row)] == waits && !held[row] && still(row) && failure[row] != NONE ->
#endif
            assert(set_bad(row));                       /* nobody is skipped for what is live again */
            end(task_of(row), skipped);
            waiting[row] = 2 }
    :: d_step { !(state[task_of(row)] == waits && !held[row] && still(row)) -> skip }
    fi;
    d_step { claims--; row = 0 };
    goto end_idle;

settle:
    if
    :: d_step { task == PARENT && current(task, mine) -> settle_parent() }
    :: d_step { task != PARENT && current(task, mine) -> end(task, success) }
    :: d_step { (task == 1 || task == 4) && current(task, mine) -> end(task, failed) }
    :: !current(task, mine)                             /* it lapsed: a zombie is refused */
    fi;
    d_step { task = 0; mine = 0 };
    goto end_idle
}

active proctype Sweeper() {
    byte task;

end_idle:
    do
    for_any(lapsable, losses++; state[task] = pending; task = 0)
    od
}

active proctype Person() {
    byte task, used;

    state[PARENT] = pending;
    do
    for_any(revivable, used++; revive(task); task = 0)
    :: break
    od;
    people_done = 1
}

/* A run that stops before every task has ended stops here: spin calls that an invalid end state. */
active proctype Everything() {
    d_step { all_ended ->
        assert(state[PARENT] != skipped || set_bad(0));
        assert(state[HEIR] != skipped || set_bad(1)) }
}

ltl everything_ends { <> [] all_ended }
