/** What the declarations need of Node's own types, which compilers do not bring along. */
declare namespace NodeJS {
  type ProcessEnv = { [name: string]: string | undefined };
  type Signals = "SIGTERM" | "SIGKILL";
}
declare module "node:events" {
  export class EventEmitter {
    on(event: string, listener: (...values: any[]) => void): this;
    once(event: string, listener: (...values: any[]) => void): this;
    off(event: string, listener: (...values: any[]) => void): this;
    addListener(event: string, listener: (...values: any[]) => void): this;
    removeListener(event: string, listener: (...values: any[]) => void): this;
  }
}
interface Buffer extends Uint8Array {}
interface SymbolConstructor {
  readonly asyncDispose: unique symbol;
}
interface AsyncDisposable {
  [Symbol.asyncDispose](): PromiseLike<void>;
}
