/** Requests of real clients, as data. `wild.test.ts` runs each file in this folder against the application. */

/** A real client, or a kind of request that several clients send. */
export interface WildClient {
  /** Its name and version, or the sender of the requests. */
  client: string
  /** The source of the requests: a run, a source file or a report. */
  seen: string
  /** The grid's settings. */
  env?: Record<string, string>
  /** Headers of every request. A request omits one with null. */
  headers?: Record<string, string>
  /** The requests in the order in which they are sent, on one grid with the tests' fixed cast. */
  requests: (WildRequest | WildConsent)[]
}

/**
 * One request and its outcome. In both, `<alice key>`, `<bob key>`, `<eve key>` and `<admin key>` stand for the keys of
 * the cast, `<alice id>` and so on for their ids, and `<name>` for a value kept from an earlier request in the file.
 */
export interface WildRequest {
  /** The client's action, which is also the name of the test case. */
  does: string
  /** `POST` by default. */
  method?: string
  /** A path relative to `BASE_URL`, or a full URL. */
  path: string
  /** The value after `Basic ` is given before its base64 encoding. */
  headers?: Record<string, string | null>
  /** A string is sent unchanged, anything else as JSON. */
  body?: unknown
  /** The number of times the request is sent, by default once. */
  times?: number
  expect: WildOutcome
}

/** Ann opens this URL of `/oauth/authorize` in her browser and allows the client. The code is stored as `code`. */
export interface WildConsent {
  does: string
  consent: string
}

export interface WildOutcome {
  status: number
  headers?: Record<string, string>
  /** A text that the body contains, or an object that its JSON matches (as `toMatchObject`). */
  body?: unknown
  /** A pattern for the JSON in the first text of a tool's result. */
  answer?: unknown
  /** Maximum length of the body, in bytes. */
  maxBytes?: number
  /** Texts that the body must not contain. */
  lacks?: string[]
  /** Values of the JSON body that later requests use. Maps a name to the value's member path, such as `result.id`. */
  keeps?: Record<string, string>
}
