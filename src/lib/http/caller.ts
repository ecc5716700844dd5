/** A caller, as far as it is known before its key is looked up. See docs/security.md, "Scheduling of requests". */
export interface Caller {
  /** The id of an account, or a client address. */
  readonly name: string
  /** What it shares with other callers, the largest group first. Empty for an account. */
  readonly groups: readonly string[]
}

/** What a request says about its caller. Nothing of it has been checked. */
export interface UncheckedRequest {
  /** The IP address of the other end of the socket. */
  readonly remoteAddress: string
  /** The value of a header, by its name in lower case. */
  header(name: string): string | null
}
