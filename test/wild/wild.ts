/** Requests of real clients, as data. `wild.test.ts` runs each file in this folder against the application. */

/** A real client, or a kind of request that several clients send. */
export interface WildClient {
  /** Its name and version, or the sender of the requests. */
  client: string
  /** Where the requests were observed: a run, a source file or a report. */
  seen: string
  /** Settings of the grid. */
  env?: Record<string, string>
  /** Headers of every request; null in a request omits one. */
  headers?: Record<string, string>
  /** Sent in this order, on one grid with the tests' fixed cast. */
  requests: (WildRequest | WildConsent)[]
}

/**
 * One request and its outcome. Everywhere in it `<alice key>`, `<bob key>`, `<eve key>`, `<admin key>` stand for the
 * keys of the cast, `<alice id>` and so on for their ids, and `<name>` for what an earlier request in the file stored.
 */
export interface WildRequest {
  /** What the client does; the name of the test case. */
  does: string
  /** `POST` by default. */
  method?: string
  /** A path relative to `BASE_URL`, or a full URL. */
  path: string
  /** What follows `Basic ` is given before base64 encoding. */
  headers?: Record<string, string | null>
  /** A string is sent unchanged, anything else as JSON. */
  body?: unknown
  /** How often it is sent; once by default. */
  times?: number
  expect: WildOutcome
}

/** Ann opens this URL of `/oauth/authorize` in her browser, and allows. The code is stored as `code`. */
export interface WildConsent {
  does: string
  consent: string
}

export interface WildOutcome {
  status: number
  headers?: Record<string, string>
  /** A text that the body contains, or what its JSON matches (as `toMatchObject`). */
  body?: unknown
  /** A pattern for the JSON in the first text of a tool's result. */
  answer?: unknown
  /** Maximum length of the body, in bytes. */
  maxBytes?: number
  /** Texts that the body must not contain. */
  lacks?: string[]
  /** Values of the JSON body for later requests: the name, and the member path, such as `result.id`. */
  keeps?: Record<string, string>
}
