/** Tools as plain objects: how clients see a tool, and how it is called. MCP 2026-07-28, "Tools". */
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
 * A tool's answer: one JSON object in one text part. There is no `structuredContent`, because clients show their model
 * only one of the two, so each would need the full answer. Some clients parse the text and accept only an object.
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
  /** Fails if the credential is no longer valid. */
  check(): Promise<unknown>
}

/** Returns the wait options for a tool's caller. */
export function waitOf({ caller, maxWaitSeconds }: ToolCall, seconds = 0) {
  return { caller: caller?.connection, check: caller?.check, seconds: Math.min(seconds, maxWaitSeconds) }
}

export interface ToolCall {
  /** The longest wait that the answer's transport allows. */
  maxWaitSeconds: number
  /** Set for tools that wait. */
  caller?: LiveCaller
}

/** A tool for one kind of caller. Its name, description and schema are constants without user text. */
export interface Tool<Caller, Input extends z.ZodType = z.ZodType> {
  name: string
  title?: string
  /** Tells a model when to use the tool. */
  description: string
  annotations?: ToolAnnotations
  input: Input
  /** Renames arguments that models pass under names that are not in `tools/list`. Fails with `invalid_input`. */
  rename?(args: Arguments): Arguments
  /** Whether a call does nothing but wait. All other calls count as activity of the agent. */
  onlyWaits?(args: Arguments): boolean
  /** Whether the answers may be long and should be shown in full. */
  isLong?: true
  /** The maximum size in bytes of the list that the tool returns. A credential may have only a few lists at a time. */
  listBytes?: number
  /** Runs the tool. A `GridError` becomes a tool error for the model. */
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

/** Without this value, Claude Code moves answers of more than 50,000 characters into a file. */
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
  /** Whether unknown arguments are rejected instead of ignored. */
  readonly isStrict: boolean
}

export interface ToolCatalog<Caller> {
  readonly listed: readonly ListedTool[]
  readonly byName: ReadonlyMap<string, CatalogTool<Caller>>
  /** Advice for the caller by error code. */
  readonly hints: Hints
}

/**
 * Formats a page of a list, with a note on how to continue and further remarks. A hint about further pages comes first,
 * because some clients cut the middle of an answer.
 */
export function pageOutput(
  tool: string,
  list: string,
  entries: unknown[],
  cursor: string | undefined,
  remark?: string,
): ToolOutput {
  if (cursor === undefined) return { text: { [list]: entries, ...(remark && { note: remark }) } }
  const next = `There are more results. Call ${tool} with the same arguments and this cursor.`
  return { text: { has_more: true, [list]: entries, cursor, note: remark ? `${next} ${remark}` : next } }
}

/** Declares a tool whose `run` is typed by its schema. */
export function tool<Caller, Input extends z.ZodType>(tool: Tool<Caller, Input>): Tool<Caller> {
  return tool
}

/** Call this once per catalog: converting the schemas costs a hundred times as much as a call. */
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
  // Omits `$schema`, because some clients reject 2020-12 and others draft-07. Omits `additionalProperties`, so that
  // clients allow other arguments.
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

/**
 * Omits limits that no sensible call reaches, because models pay for each byte. If a limit is exceeded, an error
 * explains it.
 */
function lean({ jsonSchema, path }: { jsonSchema: z.core.JSONSchema.BaseSchema; path: (string | number)[] }): void {
  delete jsonSchema.propertyNames
  if (path.length > 0) delete jsonSchema.additionalProperties
  delete jsonSchema.minimum
  delete jsonSchema.maxItems
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.maxLength === maxIdentifierLength) delete jsonSchema.maxLength
}

/** Normalises a call's arguments. Fails with `invalid_input`. */
export function readToolArguments<Caller>(
  { tool, schema, isStrict }: CatalogTool<Caller>,
  given: unknown,
): ReadArguments {
  const args = isObject(given) ? withoutFillers(given, schema) : {}
  return readArguments(schema, tool.rename ? tool.rename(args) : args, { call: tool.name, isStrict })
}

/** Renames an argument. Fails with `invalid_input` if the call already has a different value under the name `to`. */
export function renamed(args: Arguments, from: string, to: string): Arguments {
  const { [from]: given, ...others } = args
  if (given === undefined) return others
  if (others[to] !== undefined && others[to] !== given) {
    throw new GridError('invalid_input', `${from} and ${to} differ. Give ${to} alone.`, { field: from })
  }
  return { ...others, [to]: given }
}
