import type * as api from "./types.ts";

/** A request that was refused. `code` is for programs, `message` says what to do. */
export class RametError extends Error {
  override name = "RametError";
  status: number;
  code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The claim is not current any more: stop, nothing that it asks for is accepted. */
export class ClaimLost extends RametError {
  override name = "ClaimLost";
}

export interface ClientOptions {
  /** Of the server, such as `http://127.0.0.1:8372`. */
  url: string;
  /** With the scopes that are needed: `submit`, `work`, `read`. */
  token?: string;
  /** Times that a call is sent again after a broken connection, 429 or 503; 5 by default. */
  retries?: number;
  fetch?: typeof fetch;
}

type Query = { [name: string]: string | number | boolean | null | undefined };

interface Call {
  query?: Query;
  body?: unknown;
  headers?: { [name: string]: string };
  signal?: AbortSignal;
}

const AGAIN = new Set([429, 502, 503, 504]);

/** The API of a server, one method for each route. A broken connection, 429 and 503 are tried again. */
export class Client {
  #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Start a lineage with one root. Sent again after a broken connection, it is still one. */
  submit(body: api.SubmitBody, idempotencyKey: string = crypto.randomUUID()): Promise<api.SubmitAnswer> {
    return this.#post("submit", body, { headers: { "Idempotency-Key": idempotencyKey } });
  }

  /** Start many roots at once, all or none: a lineage each, or one with `one_lineage` or `after`. */
  submitMany(body: api.SubmitManyBody, idempotencyKey?: string): Promise<api.SubmitAnswer[]> {
    return this.#post("submit/many", body, idempotencyKey ? { headers: { "Idempotency-Key": idempotencyKey } } : {});
  }

  /** Add roots to a lineage that runs. */
  addRoots(body: api.AddBody): Promise<api.SpawnAnswer[]> {
    return this.#post("submit/roots", body);
  }

  /** Take up to `n` tasks; with `wait_seconds` wait for the first. An aborted wait hands back what it got. */
  claim(body: api.ClaimBody, signal?: AbortSignal): Promise<api.ClaimAnswer[]> {
    return this.#post("claims", body, signal ? { signal } : {});
  }

  /** Extend leases; the answer names the claims that are lost. */
  heartbeat(claims: string[]): Promise<api.HeartbeatAnswer> {
    return this.#post("claims/heartbeat", { claims });
  }

  checkpoint(body: api.CheckpointBody): Promise<api.SpawnsAnswer> {
    return this.#post("claims/checkpoint", body);
  }

  spawn(body: api.SpawnBody): Promise<api.SpawnsAnswer> {
    return this.#post("claims/spawn", body);
  }

  progress(body: api.ProgressBody): Promise<api.HeartbeatAnswer> {
    return this.#post("claims/progress", body);
  }

  /** End a claim. Throws `ClaimLost` where it is not current; code `claim_settled` where it was settled before. */
  settle(body: Settlement): Promise<api.SettleAnswer> {
    return this.#post("claims/settle", body);
  }

  settleMany(settlements: Settlement[]): Promise<api.SettleAnswer[]> {
    return this.#post("claims/settle/many", { settlements });
  }

  /** A page of what a claimed task has joined, behind `next` of the page before. */
  joined(claim: string, next: api.JoinPlaceAnswer | null = null, before = false): Promise<api.JoinedPageAnswer> {
    return this.#call("GET", "claims/joined", { query: { claim, before, ...next } });
  }

  /** What became of a task; waits for its end up to `waitSeconds`, 30 at most. */
  result(taskId: string, waitSeconds = 0): Promise<api.ResultAnswer> {
    return this.#call("GET", "result", { query: { task_id: taskId, wait_seconds: waitSeconds } });
  }

  #post<Answer>(path: string, body: unknown, more: Call = {}): Promise<Answer> {
    return this.#call("POST", path, { ...more, body });
  }

  async #call<Answer>(method: string, path: string, call: Call): Promise<Answer> {
    const url = new URL(`/api/v1/${path}`, this.#options.url);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers: { [name: string]: string } = { "Content-Type": "application/json", ...call.headers };
    if (this.#options.token) headers["Authorization"] = `Bearer ${this.#options.token}`;
    const send = this.#options.fetch ?? fetch;
    const request: RequestInit = { method, headers };
    if (call.body !== undefined) request.body = JSON.stringify(call.body);
    if (call.signal) request.signal = call.signal;
    for (let tried = 0; ; tried++) {
      const last = tried >= (this.#options.retries ?? 5);
      let answer: Response;
      try {
        answer = await send(url, request);
        if (answer.ok) return (await answer.json()) as Answer;
      } catch (error) {
        if (last || call.signal?.aborted) throw error;
        await pause(backoff(tried), call.signal);
        continue;
      }
      if (last || !AGAIN.has(answer.status)) throw await refusal(answer);
      await answer.body?.cancel();
      const named = Number(answer.headers.get("Retry-After"));
      await pause(named > 0 ? named * 1000 : backoff(tried), call.signal);
    }
  }
}

/** What ends a claim. */
export type Settlement =
  | api.Success | api.Filter | api.Skip | api.Snooze | api.Continue | api.Join | api.Failure | api.RetryLater | api.Release;

async function refusal(answer: Response): Promise<RametError> {
  const text = await answer.text();
  let code = "error";
  let message = text.slice(0, 1000) || answer.statusText;
  try {
    ({ code, message } = JSON.parse(text).error);
  } catch {
    // Not of ramet: a proxy answered.
  }
  const lost = answer.status === 409 && code.startsWith("claim_");
  return new (lost ? ClaimLost : RametError)(answer.status, code, message);
}

function backoff(tried: number): number {
  return Math.min(10_000, 100 * 2 ** tried) * (0.5 + Math.random() / 2);
}

/** Wait so many milliseconds; throws the signal's reason when it is aborted meanwhile. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
