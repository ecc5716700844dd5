/** Tools as plain objects: what clients see of a tool, and what a call of it does. MCP 2026-07-28, "Tools". */
import { z } from 'zod'
import type { Lease } from '../grid/messaging/leases.ts'
import type { CallerConnection } from '../lib/caller-connection.ts'
import { wellFormed } from '../lib/text.ts'
import type { Hints } from '../wire.ts'

/** What a tool does to the grid, as a hint for clients. */
export interface ToolAnnotations {
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
}

/** A name or an id. It must be well-formed Unicode, because it is looked up exactly as sent. */
export const identifier = z.string().max(200).refine((text) => wellFormed(text) === text, 'must be plain Unicode text')

/** The output of a run: the JSON of the text part, and the same as an object where the text is a list. */
export interface ToolOutput {
  text: unknown
  /** Default: the text, which is an object then. */
  structured?: Record<string, unknown>
  /** A second text part. */
  note?: string
  /** The lease on the messages in the answer. */
  lease?: Lease
}

/** The result of a call for its client, and the lease on the messages in it. */
export interface ToolOutcome {
  result: ToolResult
  lease?: Lease
}

/** Call this when the answer with the leased messages is sent. Some runtimes tell later whether it was taken. */
export function endLease(lease: Lease, connection: CallerConnection | undefined): void {
  const taken = connection?.answerTaken()
  if (!taken) return lease.ack()
  void taken.then((isTaken) => isTaken ? lease.ack() : lease.release())
}

/** What a waiting call needs to know of its caller. */
export interface LiveCaller {
  /** Tells when the caller has left. */
  readonly connection: CallerConnection
  /** Fails when the credential has ended. */
  check(): Promise<unknown>
}

/** What a run gets besides the arguments. */
export interface ToolCall {
  /** The longest wait that the transport of this answer allows. */
  maxWaitSeconds: number
  /** For a run that waits. */
  caller?: LiveCaller
}

/** A tool for one kind of caller. Name, description and schema are constants that hold no text of users. */
export interface Tool<Caller, Input extends z.ZodType = z.ZodType> {
  name: string
  title?: string
  /** When to use it, written for a model. */
  description: string
  annotations?: ToolAnnotations
  input: Input
  /** Whether its answer can be long, so that one credential may have only a few at a time. */
  isList?: true
  /** A `GridError` becomes a tool error that the model reads. */
  run(caller: Caller, input: z.output<Input>, call: ToolCall): Promise<ToolOutput>
}

/** An entry of `tools/list`. */
export interface ListedTool {
  name: string
  title?: string
  description: string
  inputSchema: { type: 'object'; [keyword: string]: unknown }
  annotations?: ToolAnnotations
}

/** `CallToolResult` of every revision. */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
}

/** The tools of one kind of caller. */
export interface ToolCatalog<Caller> {
  readonly listed: readonly ListedTool[]
  readonly byName: ReadonlyMap<string, Tool<Caller>>
  /** What this caller can do about its errors. */
  readonly hints: Hints
}

/** Define a tool, with a `run` whose input has the type of the schema. */
export function tool<Caller, Input extends z.ZodType>(tool: Tool<Caller, Input>): Tool<Caller> {
  return tool
}

/** Build a catalog with its `tools/list`. Do this once: converting the schemas costs a hundred times as much as a call. */
export function toolCatalog<Caller>(tools: Tool<Caller>[], hints: Hints = {}): ToolCatalog<Caller> {
  return { listed: tools.map(asListed), byName: new Map(tools.map((tool) => [tool.name, tool])), hints }
}

function asListed<Caller>({ name, title, description, input, annotations }: Tool<Caller>): ListedTool {
  const inputSchema = z.toJSONSchema(input, { io: 'input' })
  // Some clients refuse a declared 2020-12, others a declared draft-07.
  delete inputSchema.$schema
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: inputSchema as ListedTool['inputSchema'],
    ...(annotations && { annotations }),
  }
}
