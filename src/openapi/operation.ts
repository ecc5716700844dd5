/** What the OpenAPI document says of one operation. */
import type * as z from 'zod'
import type { ErrorCode } from '../errors.ts'

/** An answer that is no error. */
export interface Answer {
  description: string
  /** The JSON of the answer. */
  json?: z.ZodType
  /** The media type of any other content. */
  content?: string
  headers?: Record<string, string>
}

/** Whose key a call needs. */
export type Caller = 'agent key' | 'agent' | 'admin' | 'agent access token'

/** One operation of the REST side. */
export interface Operation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** As OpenAPI writes it, with `{name}` for a parameter. */
  path: string
  id: string
  tag: string
  summary: string
  description?: string
  /** Absent for a call without a credential. */
  caller?: Caller
  /** The parameters of the path, with what they are. */
  parameters?: Record<string, string>
  query?: z.ZodObject
  /** Request headers, with what they do. */
  headers?: Record<string, string>
  body?: z.ZodType
  /** The body may be absent. */
  isBodyOptional?: boolean
  answers: Record<number, Answer>
  /** The codes of its own errors. Those that every call can have, every call with its credential or with a body, are added. */
  errors?: readonly ErrorCode[]
}
