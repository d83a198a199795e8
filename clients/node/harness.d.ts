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
  /** Answers when nothing happens any more unless somebody does something. */
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
  space(params?: { space?: string; seed?: number; buckets?: string[]; quota?: number; keep?: boolean }): Promise<{
    space: string;
    socket: string;
    isNew: boolean;
  }>;
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
  /** Keeps the objects as they are, for `reset`, when nothing moves. */
  save(params: { snapshot: string }): Promise<{ snapshot: string; objects: number; bytes: number }>;
  /**
   * An object whose path fits the pattern, once there is one: `**` fits anything, `*` all but a slash. The pattern is of
   * the default bucket, or begins with `gs://BUCKET/`. Without a signal it waits for half a minute.
   */
  waitFor(pattern: string, options?: { signal?: AbortSignal }): Promise<Reference>;
  /** Begins anew, from a snapshot or without objects. */
  reset(params?: { snapshot?: string }): Promise<Record<string, never>>;
}

/**
 * A service of its own for one test of node:test; it is gone when the test ends. `socket` is the address for a program
 * under test. The test fails where a rule that it armed never struck.
 */
export function withHarness(
  t: { after(done: () => Promise<void>): void; diagnostic(message: string): void },
  options?: SpawnOptions,
): Promise<{ storage: Storage; harness: Harness; socket: string }>;
