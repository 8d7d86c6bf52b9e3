// Types of requests and answers, written from the document of the API by `make docs`: do not edit.

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Roots for a lineage that runs. */
export interface AddBody {
  tracking_id: string;
  items: WantedRoot[];
}

/** A part of what the lineage has, for a task and all that grows below it. Money is whole nano-dollars. */
export interface BudgetBody {
  max_tasks?: number | null;
  max_cost?: number | null;
  keep_cost?: number;
  max_spawn_depth?: number | null;
  seconds?: number | null;
}

/** State, spawns and charges to commit now; after a crash the task resumes from them. */
export interface CheckpointBody {
  claim: string;
  stage?: string | null;
  /** The new pipeline_state; left out, it stays. */
  state?: { [name: string]: Json } | null;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
}

/** A task in the hands of a worker, under a lease and a fence. */
export interface ClaimAnswer {
  /** Handle of the claim in later calls. */
  claim: string;
  task_id: string;
  tracking_id: string;
  parent_id: string | null;
  kind: string;
  key: string;
  payload: Json;
  /** 1 on the first run; snoozed and lost attempts do not count. */
  attempt: number;
  /** Grows with every claim of the task. */
  fence: number;
  /** An idempotency token for calls to the outside: another one with every claim. */
  token: string;
  /** Send a heartbeat every third of it; without one the claim is lost after this time. */
  lease_seconds: number;
  /** End of the task's own time, which does not run while the task waits for others. */
  deadline_at: number | null;
  /** The database's clock, to compare with. */
  now: number;
  spawn_depth: number;
  path: string[];
  stage: string | null;
  /** State of the last checkpoint; empty before the first. */
  pipeline_state: { [name: string]: Json };
  chain_depth: number;
  snoozes: number;
  /** State as which the task ends, where a limit or an operator ends it. */
  ending: TaskState | null;
  /** Outcomes of the children after a join; null before the first. */
  joined: JoinedAnswer | null;
  /** The tasks that it was created after; null where there are none. */
  after: JoinedAnswer | null;
}

/** Tasks that a worker can claim. */
export interface ClaimBody {
  /** Kinds in any language: none has to be registered. */
  kinds: string[];
  /** Name under which the claims are shown. */
  worker: string;
  n?: number;
  /** Queues to claim from; left out, `default`. */
  queues?: string[] | null;
  /** Only tasks at this path or below it. */
  path?: string[];
  /** How long each claim lives without a heartbeat. */
  lease_seconds?: number;
  /** How long to wait for the first task when there is none. */
  wait_seconds?: number;
}

/** Run again with fresh attempts, after progress only. */
export interface Continue {
  claim: string;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
  outcome: "continue";
}

/** An error of a handler. */
export interface ErrorBody {
  /** Its type. */
  name: string;
  message?: string;
  /** `transient` and `unclassified` are tried again while attempts are left, `permanent` never. */
  error_class?: ErrorClass;
  traceback?: string | null;
}

/** Classes of errors, by whether another try is worthwhile. */
export type ErrorClass = "transient" | "permanent" | "unclassified";

/** The attempt failed; nothing since the last checkpoint is kept. */
export interface Failure {
  claim: string;
  outcome: "failure";
  error: ErrorBody;
}

/** End as *filtered*: what the task is about was rejected. */
export interface Filter {
  claim: string;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
  outcome: "filter";
  reason: string;
}

/** The claims whose leases were not extended. */
export interface HeartbeatAnswer {
  lost: LostClaim[];
}

/** Claims that are worked on. */
export interface HeartbeatBody {
  claims: string[];
}

/** Wait for the task's own children; it is claimed again with `joined` when they have ended. */
export interface Join {
  claim: string;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
  outcome: "join";
  /** Whether to wait for all tasks below the children, too. */
  branch?: boolean;
  on_dependency_failure?: "run" | "skip";
}

/** A place in a round, to read on behind it. */
export interface JoinPlaceAnswer {
  place: number;
  behind: number;
}

/** The tasks that were waited for: how many, and the first page of them. */
export interface JoinedAnswer {
  tasks: JoinedTaskAnswer[];
  /** Beginning of the next page; null at the end. */
  next: JoinPlaceAnswer | null;
  /** Number of the join, from 1; 0 for the tasks that it was created after. */
  round: number;
  total: number;
  states: { [name: string]: number };
  refused: number;
}

/** Some of the tasks that were waited for, in the order of their spawns, refused ones among them. */
export interface JoinedPageAnswer {
  tasks: JoinedTaskAnswer[];
  /** Beginning of the next page; null at the end. */
  next: JoinPlaceAnswer | null;
}

/** A task of a round, or a spawn of it that the guard refused. */
export interface JoinedTaskAnswer {
  kind: string;
  key: string;
  id: string | null;
  state: TaskState | null;
  result: Json;
  error: string | null;
  reason: string | null;
  refused: string | null;
  refused_code: string | null;
}

/** A task of the same lineage by what it is about. */
export interface KindAndKey {
  kind: string;
  key: string;
}

/** A claim that is not current any more: stop its work. */
export interface LostClaim {
  claim: string;
  /** `claim_lost`, or `claim_settled` where its worker settled it. */
  code: string;
  message: string;
}

/** How far the task is, for people. */
export interface ProgressBody {
  claim: string;
  done: number;
  total?: number | null;
  message?: string;
}

/** Hand the task back with its attempt, as if it had never been claimed. */
export interface Release {
  claim: string;
  outcome: "release";
}

/** Outcome of a task. */
export interface ResultAnswer {
  id: string;
  kind: string;
  key: string;
  state: TaskState;
  /** True once it has ended. */
  over: boolean;
  result: Json;
  error: string | null;
  reason: string | null;
  finished_at: number | null;
}

/** Results in the order in which the tasks were created. */
export interface ResultPage {
  results: ResultAnswer[];
  /** Value of `after` for the next page; null at the end. */
  next_after: number | null;
}

/** When the task is tried again, instead of the engine's default. */
export interface RetryBody {
  attempts?: number | null;
  base_seconds?: number;
  factor?: number;
  cap_seconds?: number;
  jitter?: number;
}

/** A server named the time to come back: the attempt is given back, and its resource pauses for all. */
export interface RetryLater {
  claim: string;
  outcome: "retry_after";
  seconds: number;
  /** Resource that was busy; left out, the task's own. */
  resource?: string | null;
}

/** Outcome of a task whose claim ended. */
export interface SettleAnswer {
  claim: string;
  /** `pending` when it will run again; null where the settlement was refused. */
  state: TaskState | null;
  reason: string | null;
  spawns: SpawnAnswer[];
  /** Why it was refused; null where it was accepted. */
  refused: LostClaim | null;
}

/** Ends of many claims, in one transaction. */
export interface SettleManyBody {
  settlements: (Success | Filter | Skip | Snooze | Continue | Join | Failure | RetryLater | Release)[];
}

/** End as *skipped*: the work need not be done. */
export interface Skip {
  claim: string;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
  outcome: "skip";
  reason: string;
}

/** Return to pending for a number of seconds, at least 1; the attempt is given back. */
export interface Snooze {
  claim: string;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
  outcome: "snooze";
  seconds: number;
  reason?: string | null;
  /** False where the task's own time is stopped meanwhile: it waits for a rate, or for a server. */
  uses_time?: boolean;
}

/** The guard's answer to one task that was asked for. */
export interface SpawnAnswer {
  /** Id of the new task; null where it was refused. */
  id: string | null;
  kind: string;
  key: string;
  /** Why it was refused, as a code; null for a new task. */
  reason: string | null;
  /** The same in words. */
  detail: string;
  /** The task that is there already, or closes the cycle. */
  winner: string | null;
  facts: { [name: string]: Json };
}

/** Children to be decided about at once. */
export interface SpawnBody {
  claim: string;
  spawns: WantedSpawn[];
}

/** The guard's answers, in the order asked. */
export interface SpawnsAnswer {
  spawns: SpawnAnswer[];
}

/** A submitted task. */
export interface SubmitAnswer {
  id: string;
  tracking_id: string;
  /** False where the task was there already. */
  created: boolean;
}

/** One root and its lineage. */
export interface SubmitBody {
  kind: string;
  payload?: Json;
  key?: string | null;
  queue?: string | null;
  priority?: number | null;
  delay_seconds?: number;
  /** The task's own time, where that is less than its kind's. */
  task_seconds?: number | null;
  /** Tasks that have to end first: ids, or kind and key. */
  after?: (string | KindAndKey)[];
  path?: string[] | null;
  document_id?: string | null;
  reserve_path?: boolean;
  path_scope?: "queue" | "lineage" | null;
  on_dependency_failure?: "run" | "skip" | null;
  budget?: BudgetBody | null;
  tags?: string[];
  max_attempts?: number | null;
  retry?: RetryBody | null;
  payload_version?: number | null;
  /** Names the lineage; the same submit again changes nothing. */
  tracking_id?: string | null;
  /** Limits of the lineage by name, where they are stricter than the default: max_tasks, max_spawn_depth, max_fan_out, max_cost (nano-dollars), lineage_seconds, ... */
  limits?: { [name: string]: Json };
  /** A kind of which a task runs when the lineage has ended. */
  on_lineage_end?: string | null;
}

/** Many roots, all or none: a lineage each, or all in one. */
export interface SubmitManyBody {
  /** Names the lineage; the same submit again changes nothing. */
  tracking_id?: string | null;
  /** Limits of the lineage by name, where they are stricter than the default: max_tasks, max_spawn_depth, max_fan_out, max_cost (nano-dollars), lineage_seconds, ... */
  limits?: { [name: string]: Json };
  /** A kind of which a task runs when the lineage has ended. */
  on_lineage_end?: string | null;
  items: WantedRoot[];
  one_lineage?: boolean;
}

/** End as *success*. */
export interface Success {
  claim: string;
  spawns?: WantedSpawn[];
  /** Money that was spent, in nano-dollars. */
  charge?: number;
  outcome: "success";
  result?: Json;
}

/** The state of a task (DESIGN §2). Scheduled, waiting and stale describe a task; they are not states. */
export type TaskState = "pending" | "processing" | "success" | "filtered" | "skipped" | "failed" | "cancelled";

/** A task at the root of a lineage. */
export interface WantedRoot {
  kind: string;
  payload?: Json;
  key?: string | null;
  queue?: string | null;
  priority?: number | null;
  delay_seconds?: number;
  /** The task's own time, where that is less than its kind's. */
  task_seconds?: number | null;
  /** Tasks that have to end first: ids, or kind and key. */
  after?: (string | KindAndKey)[];
  path?: string[] | null;
  document_id?: string | null;
  reserve_path?: boolean;
  path_scope?: "queue" | "lineage" | null;
  on_dependency_failure?: "run" | "skip" | null;
  budget?: BudgetBody | null;
  tags?: string[];
  max_attempts?: number | null;
  retry?: RetryBody | null;
  payload_version?: number | null;
}

/** A child that a claimed task asks for. */
export interface WantedSpawn {
  kind: string;
  payload?: Json;
  key?: string | null;
  queue?: string | null;
  priority?: number | null;
  delay_seconds?: number;
  /** The task's own time, where that is less than its kind's. */
  task_seconds?: number | null;
  /** Tasks that have to end first: ids, or kind and key. */
  after?: (string | KindAndKey)[];
  path?: string[] | null;
  document_id?: string | null;
  reserve_path?: boolean;
  path_scope?: "queue" | "lineage" | null;
  on_dependency_failure?: "run" | "skip" | null;
  budget?: BudgetBody | null;
  tags?: string[];
  /** Keep the edge to the task that exists already, where the spawn is refused because of it. */
  keep_edge?: boolean;
  /** Whether the task fails without this child. */
  required?: boolean;
}
