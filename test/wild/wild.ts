/** Requests of real clients, as data. `wild.test.ts` runs each file of this folder against the application. */

/** A client as observed, or a kind of request that several clients send. */
export interface WildClient {
  /** Name and version of the client, or the sender. */
  client: string
  /** Where the requests were observed: a run, a source file or a report. */
  seen: string
  /** Settings of the grid. */
  env?: Record<string, string>
  /** Headers of every request. Null in a request omits a header. */
  headers?: Record<string, string>
  /** Sent in this order, on one grid with the fixed cast of the tests. */
  requests: (WildRequest | WildConsent)[]
}

/**
 * One request and its outcome. Throughout, `<alice key>`, `<bob key>`, `<eve key>`, `<admin key>` stand for the cast's
 * keys, `<alice id>` and so on for their ids, and `<name>` for a value stored from an earlier request of the file.
 */
export interface WildRequest {
  /** Description of the request, used as the test's name. */
  does: string
  /** `POST` by default. */
  method?: string
  /** A path relative to `BASE_URL`, or a full URL. */
  path: string
  /** Credentials after `Basic ` are given before their base64 encoding. */
  headers?: Record<string, string | null>
  /** A string is sent unchanged, anything else as JSON. */
  body?: unknown
  /** How often the request is sent. Once by default. */
  times?: number
  expect: WildOutcome
}

/** Ann opens this address of `/oauth/authorize` in her browser, and allows access. The code is stored as `code`. */
export interface WildConsent {
  does: string
  consent: string
}

export interface WildOutcome {
  status: number
  headers?: Record<string, string>
  /** A text that the body contains, or a pattern for its JSON (as in `toMatchObject`). */
  body?: unknown
  /** A pattern for the JSON in the first text of a tool's result. */
  answer?: unknown
  /** Maximum size of the body in bytes. */
  maxBytes?: number
  /** Texts that the body must not contain. */
  lacks?: string[]
  /** Values of the JSON body for later requests: a name, and a path of members, such as `result.id`. */
  keeps?: Record<string, string>
}
