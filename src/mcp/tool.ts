/** Tools as plain objects: what clients see of a tool, and what a call of it does. MCP 2026-07-28, "Tools". */
import * as z from 'zod'
import { GridError } from '../errors.ts'
import type { Lease } from '../grid/messaging/read-messages.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import {
  type Arguments,
  type ArgumentSchema,
  isObject,
  type ReadArguments,
  readArguments,
} from '../lib/given-arguments.ts'
import { maxIdentifierLength } from '../lib/input.ts'
import { lazy, once } from '../lib/lazy.ts'
import type { Hints } from '../wire.ts'
import { withoutFillers } from './client-fillers.ts'

interface ToolAnnotations {
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
}

/**
 * What a tool answers: one JSON object, in one text part. There is no `structuredContent`: clients show their model either
 * it or the text, so each would have to hold everything. Some clients parse the text, and take nothing but an object.
 */
export interface ToolOutput {
  text: object
  /** The lease on the messages in the answer. */
  lease?: Lease
}

export interface ToolOutcome {
  result: ToolResult
  lease?: Lease
}

export interface LiveCaller {
  readonly connection: CallerConnection
  /** Fails when the credential has ended. */
  check(): Promise<unknown>
}

/** How a verb waits for the caller of a tool. */
export function waitOf({ caller, maxWaitSeconds }: ToolCall, seconds = 0) {
  return { caller: caller?.connection, check: caller?.check, seconds: Math.min(seconds, maxWaitSeconds) }
}

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
  /** Renames arguments that models call by names not in `tools/list`. Fails with `invalid_input`. */
  rename?(args: Arguments): Arguments
  /** Whether a call only waits. Other calls show that the agent works. */
  onlyWaits?(args: Arguments): boolean
  /** Its answers may be long, and are to be shown whole. */
  isLong?: true
  /** The longest list it answers, in bytes. A credential may have only a few lists at a time. */
  listBytes?: number
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
  _meta?: typeof longAnswer
}

/** Claude Code puts longer answers into a file, at 50,000 characters without this. */
const longAnswer = { 'anthropic/maxResultSizeChars': 200_000 }

/** `CallToolResult` of every revision. */
interface ToolResult {
  content: { type: 'text'; text: string }[]
  isError?: true
}

export interface CatalogTool<Caller> {
  readonly tool: Tool<Caller>
  readonly listed: ListedTool
  readonly schema: ArgumentSchema
  /** Unknown arguments are refused, not ignored. */
  readonly isStrict: boolean
}

export interface ToolCatalog<Caller> {
  readonly listed: readonly ListedTool[]
  readonly byName: ReadonlyMap<string, CatalogTool<Caller>>
  /** The remedies of errors for this caller. */
  readonly hints: Hints
}

/**
 * A page of a list, how to go on, and what else there is to say. What says that there is more stands first, because some
 * clients cut the middle of an answer.
 */
export function pageOutput(
  tool: string,
  list: string,
  entries: unknown[],
  cursor: string | undefined,
  remark?: string,
): ToolOutput {
  if (cursor === undefined) return { text: { [list]: entries, ...(remark && { note: remark }) } }
  const next = `There is more. Call ${tool} with the same arguments and this cursor.`
  return { text: { has_more: true, [list]: entries, cursor, note: remark ? `${next} ${remark}` : next } }
}

/** A tool whose `run` gets the type of its schema. */
export function tool<Caller, Input extends z.ZodType>(tool: Tool<Caller, Input>): Tool<Caller> {
  return tool
}

/** Make it once: converting the schemas, at first use, costs a hundred times as much as a call. */
export function toolCatalog<Caller>(tools: Tool<Caller>[], hints: Hints = {}): ToolCatalog<Caller> {
  const entries = once(() => tools.map(asCatalogTool))
  return lazy<ToolCatalog<Caller>>({
    listed: () => entries().map(({ listed }) => listed),
    byName: () => new Map(entries().map((entry) => [entry.tool.name, entry])),
    hints: () => hints,
  })
}

function asCatalogTool<Caller>(tool: Tool<Caller>): CatalogTool<Caller> {
  const { name, title, description, input, annotations, isLong } = tool
  // Some clients refuse a declared 2020-12, others draft-07. Without `additionalProperties` other arguments are allowed.
  const { $schema: _, additionalProperties: __, ...inputSchema } = z.toJSONSchema(input, {
    io: 'input',
    override: lean,
  })
  const listed = {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: inputSchema as ListedTool['inputSchema'],
    ...(annotations && { annotations }),
    ...(isLong && { _meta: longAnswer }),
  }
  return { tool, listed, schema: inputSchema as ArgumentSchema, isStrict: name.startsWith('admin_') }
}

/** Leaves out limits that no sensible call reaches. Every model pays for each byte, and an error tells who needs them. */
function lean({ jsonSchema, path }: { jsonSchema: z.core.JSONSchema.BaseSchema; path: (string | number)[] }): void {
  delete jsonSchema.propertyNames
  if (path.length > 0) delete jsonSchema.additionalProperties
  delete jsonSchema.minimum
  delete jsonSchema.maxItems
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.maxLength === maxIdentifierLength) delete jsonSchema.maxLength
}

/** The arguments of a call as they are meant. Fails with `invalid_input`. */
export function readToolArguments<Caller>(
  { tool, schema, isStrict }: CatalogTool<Caller>,
  given: unknown,
): ReadArguments {
  const args = isObject(given) ? withoutFillers(given, schema) : {}
  return readArguments(schema, tool.rename ? tool.rename(args) : args, { call: tool.name, isStrict })
}

/** Fails with `invalid_input` if the call has another value under the name `to`. */
export function renamed(args: Arguments, from: string, to: string): Arguments {
  const { [from]: given, ...others } = args
  if (given === undefined) return others
  if (others[to] !== undefined && others[to] !== given) {
    throw new GridError('invalid_input', `${from} and ${to} differ. Give ${to} alone.`, { field: from })
  }
  return { ...others, [to]: given }
}
