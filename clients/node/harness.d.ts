import type { Reference, SpawnOptions, Storage } from "./index.js";

/** Answers are as on the wire: see protocol/harness.md. */
export interface Harness {
  arm(rule: { on: string | string[]; do: Record<string, unknown>; [param: string]: unknown }): Promise<{ rule: string }>;
  disarm(params?: { rule?: string }): Promise<{ fired: Record<string, number>; unfired: string[] }>;
  release(params?: { hold?: string; rule?: string; do?: Record<string, unknown> }): Promise<{ released: number }>;
  clock(params?: { at?: string; advance?: number; toNext?: boolean; run?: "real" | "skip" }): Promise<{
    now: string;
    stands: boolean;
    sleeping: number;
  }>;
  /** Answers when the service is idle until the next request. */
  settled(): Promise<{
    tasks: Record<string, number>;
    held: { hold: string; rule: string; on: string; reference: string; task?: string; at?: number }[];
    resting: { task: string; at: string }[];
  }>;
  journal(params?: Record<string, unknown>): Promise<{
    entries: {
      number: number;
      at: string;
      on: string;
      reference: string;
      task?: string;
      bytes?: [number, number];
      outcome: string;
      rule?: string;
    }[];
    last: number;
    dropped: number;
  }>;
  /** Enters a space, whose objects, tasks, rules, clock and ids are its own. */
  space(params?: {
    space?: string;
    seed?: number;
    buckets?: string[];
    quota?: number;
    keep?: boolean;
    gateway?: boolean;
  }): Promise<{
    space: string;
    socket: string;
    isNew: boolean;
    gateway?: string;
  }>;
  /** Says who may do what through the gateway of the space; the first rule that fits counts. */
  authorize(params?: { rules?: Record<string, unknown>[]; default?: "allow" | "deny" }): Promise<Record<string, never>>;
  /** Stores objects without tasks, rules and events, all or none. */
  seed(params: {
    directory?: string;
    into?: string;
    objects?: {
      reference: string | { bucket: string; fullPath: string };
      text?: string;
      data?: string;
      file?: string;
      metadata?: Record<string, unknown>;
    }[];
    generate?: { reference: string; count: number; size: number };
  }): Promise<{ objects: number; bytes: number }>;
  /** Keeps the current objects for `reset`, when nothing moves. */
  save(params: { snapshot: string }): Promise<{ snapshot: string; objects: number; bytes: number }>;
  /**
   * An object whose path fits the pattern, once there is one: `**` fits anything, `*` all but a slash. The pattern is of
   * the default bucket, or begins with `gs://BUCKET/`. Without a signal it waits for half a minute.
   */
  waitFor(pattern: string, options?: { signal?: AbortSignal }): Promise<Reference>;
  /** Restarts, from a snapshot or without objects. */
  reset(params?: { snapshot?: string }): Promise<Record<string, never>>;
}

/**
 * A service of its own for one test of node:test; it is gone when the test ends. `socket` is the address for a program
 * under test. The test fails where a rule that it armed never struck.
 */
export function withHarness(t: TestScope, options?: SpawnOptions): Promise<HarnessScene>;

/**
 * The same, with a gateway for SDKs of Firebase Storage and Google Cloud Storage. Until the end of the test
 * `STORAGE_EMULATOR_HOST` and `FIREBASE_STORAGE_EMULATOR_HOST` lead there: make the client of the SDK within the test.
 *
 * They are variables of the process. A second test that runs at the same time in the same process is refused, unless
 * `setsEnvironment` is false: give `environment` to its program then, or `url` to its client.
 */
export function withGateway(
  t: TestScope,
  options?: SpawnOptions & { setsEnvironment?: boolean },
): Promise<GatewayScene>;

/** For other frameworks than node:test, such as Jest and Vitest: call `close` after each test. */
export function openHarness(options?: SpawnOptions): Promise<HarnessScene & Closing>;

/** The same, with a gateway and its variables, as `withGateway`. */
export function openGateway(options?: SpawnOptions & { setsEnvironment?: boolean }): Promise<GatewayScene & Closing>;

export interface Closing {
  /** Ends the service. Rejects where a rule that the test armed never struck, unless the test has not `passed`. */
  close(options?: { passed?: boolean; diagnostic?: (line: string) => void }): Promise<void>;
}

/** What is needed of the context of a test. */
export interface TestScope {
  after(done: () => void | Promise<void>): void;
  diagnostic(message: string): void;
}

export interface HarnessScene {
  storage: Storage;
  harness: Harness;
  socket: string;
}

export interface GatewayScene extends HarnessScene {
  /** `127.0.0.1:PORT`, for `connectStorageEmulator` and `useEmulator`. */
  host: string;
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** The variables that lead SDKs to the gateway. */
  environment: { STORAGE_EMULATOR_HOST: string; FIREBASE_STORAGE_EMULATOR_HOST: string };
}
