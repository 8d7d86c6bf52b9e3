import { ClaimLost, RametError, pause } from "./client.ts";
import type { Client, Settlement } from "./client.ts";
import type * as api from "./types.ts";

/** Throw it in a handler: the world was busy, try again while attempts are left. */
export class Transient extends Error {
  override name = "Transient";
}

/** Throw it in a handler: trying again gives the same, fail at once. */
export class Permanent extends Error {
  override name = "Permanent";
}

type Distribute<T> = T extends unknown ? Omit<T, "claim" | "spawns"> : never;

/** An end of a handler other than its result. */
export class End {
  settlement: Distribute<Settlement>;

  constructor(settlement: Distribute<Settlement>) {
    this.settlement = settlement;
  }
}

export const filter = (reason: string): End => new End({ outcome: "filter", reason });
export const skip = (reason: string): End => new End({ outcome: "skip", reason });
/** Come back in so many seconds. With `uses_time: false` the task's own time stands still meanwhile. */
export const snooze = (seconds: number, options: { reason?: string; uses_time?: boolean } = {}): End =>
  new End({ outcome: "snooze", seconds, ...options });
/** A server named the time to come back: the attempt is given back, and the resource pauses for all workers. */
export const retryAfter = (seconds: number, resource?: string): End =>
  new End({ outcome: "retry_after", seconds, ...(resource === undefined ? {} : { resource }) });
export const continueLater = (): End => new End({ outcome: "continue" });
/** Wait for the task's children; the handler is called again with `joined` when they have ended. */
export const join = (options: { branch?: boolean; on_dependency_failure?: "run" | "skip" } = {}): End =>
  new End({ outcome: "join", ...options });

/** A claimed task in the hands of its handler. */
export class Task {
  claim: api.ClaimAnswer;
  /** Aborted when the claim is lost or the worker gives up: stop what you do. */
  signal: AbortSignal;
  /** Children that commit with the next checkpoint or the end. */
  spawns: api.WantedSpawn[] = [];
  #client: Client;

  constructor(client: Client, claim: api.ClaimAnswer, signal: AbortSignal) {
    this.#client = client;
    this.claim = claim;
    this.signal = signal;
  }

  get state(): { [name: string]: api.Json } {
    return this.claim.pipeline_state;
  }

  /** Ask for a child; the guard decides at the next checkpoint or the end. */
  spawn(child: api.WantedSpawn): void {
    this.spawns.push(child);
  }

  /** Ask for children and learn the guard's answers at once. */
  async spawnNow(...spawns: api.WantedSpawn[]): Promise<api.SpawnAnswer[]> {
    return (await this.#client.spawn({ claim: this.claim.claim, spawns })).spawns;
  }

  /** Commit stage, state and the spawns so far; a crash resumes after it. */
  async checkpoint(what: { stage?: string; state?: { [name: string]: api.Json } } = {}): Promise<api.SpawnAnswer[]> {
    const spawns = this.spawns.splice(0);
    const answer = await this.#client.checkpoint({ claim: this.claim.claim, spawns, ...what });
    if (what.state) this.claim.pipeline_state = what.state;
    return answer.spawns;
  }

  async progress(done: number, total: number | null = null, message = ""): Promise<void> {
    await this.#client.progress({ claim: this.claim.claim, done, total, message });
  }

  /** Every task that this one has joined, page by page. */
  async *joined(): AsyncGenerator<api.JoinedTaskAnswer> {
    let page: api.JoinedPageAnswer | null = this.claim.joined;
    while (page) {
      yield* page.tasks;
      page = page.next && (await this.#client.joined(this.claim.claim, page.next));
    }
  }
}

export type Handler = (task: Task) => Promise<api.Json | End | void> | api.Json | End | void;

export interface WorkerOptions {
  /** Under which claims are shown. */
  name: string;
  handlers: { [kind: string]: Handler };
  /** Tasks at once, 1,000 at most; 10 by default. */
  concurrency?: number;
  queues?: string[];
  /** How long a claim lives without a heartbeat; 300 by default. A heartbeat is sent every third of it. */
  leaseSeconds?: number;
  /** How long running handlers may take after `stop()`; 30 by default. */
  graceSeconds?: number;
  /** Told what went wrong and does not end the worker. */
  onError?: (error: unknown) => void;
}

interface Held {
  abort: AbortController;
  lapsesAt: number;
}

/** Claims tasks, runs their handlers, keeps their leases and settles them, until it is stopped. */
export class Worker {
  #client: Client;
  #options: WorkerOptions;
  #held = new Map<string, Held>();
  #running = new Set<Promise<void>>();
  #stopping = new AbortController();

  constructor(client: Client, options: WorkerOptions) {
    if (options.concurrency !== undefined && !(options.concurrency >= 1 && options.concurrency <= 1000)) {
      throw new RangeError(`concurrency is ${options.concurrency}: give 1 to 1000`);
    }
    this.#client = client;
    this.#options = options;
  }

  /** Claim nothing more; `run()` ends when the running handlers have ended, or after the grace. */
  stop(): void {
    this.#stopping.abort(new Error("the worker stops"));
  }

  async run(): Promise<void> {
    const over = new AbortController();
    const beating = this.#beat(over.signal);
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#claim();
      } catch (error) {
        if (this.#stopping.signal.aborted) break;
        this.#options.onError?.(error);
        await pause(1000, this.#stopping.signal).catch(() => {});
      }
    }
    const grace = (this.#options.graceSeconds ?? 30) * 1000;
    const patience = new AbortController();
    const giveUp = pause(grace, patience.signal).then(() => this.#abortAll(), () => {});
    await Promise.allSettled(this.#running);
    patience.abort();
    over.abort();
    await Promise.all([giveUp, beating]);
  }

  async #claim(): Promise<void> {
    const free = (this.#options.concurrency ?? 10) - this.#running.size;
    if (free <= 0) {
      await Promise.race(this.#running);
      return;
    }
    const { name, handlers, queues, leaseSeconds = 300 } = this.#options;
    // From before the request: the lease in the database ends later than ours.
    const lapsesAt = performance.now() + leaseSeconds * 1000;
    const wanted = { kinds: Object.keys(handlers), worker: name, n: Math.min(free, 100), lease_seconds: leaseSeconds };
    const waiting = { ...wanted, wait_seconds: 20, ...(queues ? { queues } : {}) };
    for (const claim of await this.#client.claim(waiting, this.#stopping.signal)) {
      const running = this.#work(claim, lapsesAt).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #work(claim: api.ClaimAnswer, lapsesAt: number): Promise<void> {
    const abort = new AbortController();
    this.#held.set(claim.claim, { abort, lapsesAt });
    const task = new Task(this.#client, claim, abort.signal);
    const end = (outcome: object) => this.#client.settle({ claim: claim.claim, ...outcome } as Settlement);
    try {
      await end(await this.#outcome(task)).catch((error: unknown) => {
        if (!(error instanceof RametError) || !NEVER_FITS.has(error.status)) throw error;
        // What the handler returned or asked for cannot be taken, now or later.
        return end({ outcome: "failure", error: { ...described(error), error_class: "permanent" } });
      });
    } catch (error) {
      // Settled before: the answer was lost on the way. Lost: another worker has the task.
      if (!(error instanceof ClaimLost)) this.#options.onError?.(error);
    } finally {
      this.#held.delete(claim.claim);
    }
  }

  async #outcome(task: Task): Promise<object> {
    try {
      const handler = this.#options.handlers[task.claim.kind];
      if (!handler) throw new Permanent(`this worker has no handler for ${task.claim.kind}`);
      const value = await handler(task);
      if (task.signal.aborted) return { outcome: "release" };
      if (!(value instanceof End)) return { outcome: "success", result: value ?? null, spawns: task.spawns };
      const spawns = value.settlement.outcome === "retry_after" ? {} : { spawns: task.spawns };
      return { ...value.settlement, ...spawns };
    } catch (error) {
      if (task.signal.aborted) return { outcome: "release" };
      return { outcome: "failure", error: described(error) };
    }
  }

  async #beat(over: AbortSignal): Promise<void> {
    const lease = (this.#options.leaseSeconds ?? 300) * 1000;
    while (!over.aborted) {
      await pause(lease / 3, over).catch(() => {});
      const claims = [...this.#held.keys()];
      if (over.aborted || !claims.length) continue;
      const sentAt = performance.now();
      try {
        const { lost } = await this.#client.heartbeat(claims);
        const gone = new Map(lost.map((one) => [one.claim, one]));
        for (const [claim, held] of this.#held) {
          const why = gone.get(claim);
          if (why) held.abort.abort(new ClaimLost(409, why.code, why.message));
          else if (claims.includes(claim)) held.lapsesAt = sentAt + lease;
        }
      } catch (error) {
        this.#options.onError?.(error);
      }
      for (const held of this.#held.values()) {
        if (held.lapsesAt <= performance.now()) held.abort.abort(new Error("no heartbeat reached the server in time"));
      }
    }
  }

  #abortAll(): void {
    for (const held of this.#held.values()) held.abort.abort(this.#stopping.signal.reason);
  }
}

const NEVER_FITS = new Set([400, 413, 422]);
const TRANSIENT = new Set(["Transient", "TimeoutError", "FetchError"]);
const CODES = /^(ECONN|ETIMEDOUT|EAI_AGAIN|EPIPE|ENETUNREACH|EHOSTUNREACH|UND_ERR)/;

/** An error as the server takes it, classed by what it says about another try. */
export function described(error: unknown): api.ErrorBody {
  if (!(error instanceof Error)) return { name: "Error", message: storable(String(error), 5000) };
  const codes = [error, error.cause].map((one) => String((one as { code?: unknown } | undefined)?.code ?? ""));
  const transient = TRANSIENT.has(error.name) || codes.some((code) => CODES.test(code));
  const error_class = error instanceof Permanent ? "permanent" : transient ? "transient" : "unclassified";
  const traceback = error.stack ? { traceback: storable(error.stack, 10_000) } : {};
  const name = storable(error.name, 200).replace(/[\x00-\x1f]/g, " ") || "Error";
  return { name, message: storable(error.message, 5000), error_class, ...traceback };
}

/** Text that both databases can hold: without NUL and halves of characters. */
function storable(text: string, most: number): string {
  return text.slice(0, most).replace(/\0/g, "\ufffd").replace(/[\ud800-\udfff]/gu, "\ufffd");
}
