/** What a real client sends, as data. `wild.test.ts` runs each file of this folder against the application. */

/** A client as it comes, or a kind of request that several clients send. */
export interface WildClient {
  /** Its name and version, or what sends it. */
  client: string
  /** Where the requests were seen: the run, the file of its source, or the report. */
  seen: string
  /** Settings of the grid. */
  env?: Record<string, string>
  /** Of every request; null in a request leaves one out. */
  headers?: Record<string, string>
  /** Made in this order, on one grid with the fixed cast of the tests. */
  requests: (WildRequest | WildConsent)[]
}

/**
 * One request and its outcome. Everywhere in it `<alice key>`, `<bob key>`, `<eve key>`, `<admin key>` stand for the keys
 * of the cast, `<alice id>` and so on for their ids, and `<name>` for what an earlier request of the file kept.
 */
export interface WildRequest {
  /** What the client does, in words; the name of the test case. */
  does: string
  /** `POST` without it. */
  method?: string
  /** A path of `BASE_URL`, or a whole URL. */
  path: string
  /** What follows `Basic ` is written as it is before base64. */
  headers?: Record<string, string | null>
  /** A text is sent as it is, anything else as JSON. */
  body?: unknown
  /** How often it is sent; once without it. */
  times?: number
  expect: WildOutcome
}

/** Ann opens this address of `/oauth/authorize` in her browser, and allows. The code is kept as `code`. */
export interface WildConsent {
  does: string
  consent: string
}

export interface WildOutcome {
  status: number
  headers?: Record<string, string>
  /** A text that the body has, or what its JSON matches (as `toMatchObject`). */
  body?: unknown
  /** What the JSON in the first text of a tool's result matches. */
  answer?: unknown
  /** The longest body, in bytes. */
  maxBytes?: number
  /** Texts that the body does not have. */
  lacks?: string[]
  /** Values of the JSON body for later requests: the name, and the path of members, such as `result.id`. */
  keeps?: Record<string, string>
}
