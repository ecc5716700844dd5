/** Tools as plain objects: what a client is shown, and what a call does. MCP 2026-07-28, "Tools". */
import { z } from 'zod'
import type { Log } from '../deps.ts'
import type { Departure } from '../lib/event-stream.ts'
import { wellFormed } from '../lib/text.ts'
import { asGridError, type Hints, parse, toolError } from '../wire.ts'

/** What a tool does to the grid, as a hint for clients. */
export interface ToolAnnotations {
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
}

/** A name or id: what is looked up must be the text that was sent, to its last character. */
export const word = z.string().max(200).refine((text) => wellFormed(text) === text, 'must be plain Unicode text')

/** What a run hands back: the JSON of the text part, and the same as an object. */
export interface ToolOutput {
  text: unknown
  structured: Record<string, unknown>
  /** A second text part. */
  note?: string
  /** What the run handed out. */
  handOut?: HandOut
}

/** Mail on its way: one of the two is called, once it is known whether the answer reaches anybody. Neither fails. */
export interface HandOut {
  handedOver(): void
  giveBack(): Promise<void>
}

/** The answer that holds them goes out now: what of it is not taken comes again, where the runtime tells. */
export function sendOut(handOuts: readonly HandOut[], departure: Departure | undefined): void {
  if (handOuts.length === 0) return
  const stayed = departure?.stayed()
  if (!stayed) return handOuts.forEach((handOut) => handOut.handedOver())
  void stayed.then((isTaken) => handOuts.forEach((handOut) => isTaken ? handOut.handedOver() : handOut.giveBack()))
}

/** The caller after the moment of calling. */
export interface Presence {
  /** Whether the caller has left. */
  readonly departure: Departure
  /** Fails when the credential is no longer good. */
  check(): Promise<unknown>
}

/** What a run may know of its call besides the arguments. */
export interface Call {
  /** Longest wait that the answer's way to the client stands. */
  maxWaitSeconds: number
  /** For a run that waits. */
  presence?: Presence
}

/** One tool for one kind of caller. Name, description and schema are constants: no user-made text gets there. */
export interface Tool<Caller, Input extends z.ZodType = z.ZodType> {
  name: string
  title?: string
  /** When to use it, written for a model. */
  description: string
  annotations?: ToolAnnotations
  input: Input
  /** A `GridError` becomes a refusal that the model reads. */
  run(caller: Caller, input: z.output<Input>, call: Call): Promise<ToolOutput>
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
export interface ToolSet<Caller> {
  readonly listed: readonly ListedTool[]
  readonly byName: ReadonlyMap<string, Tool<Caller>>
  /** What this caller can do about its errors. */
  readonly hints: Hints
}

/** Check that a tool's `run` takes what its schema gives. */
export function tool<Caller, Input extends z.ZodType>(tool: Tool<Caller, Input>): Tool<Caller> {
  return tool
}

/** Make the set with its `tools/list`: once, because a schema costs a hundred times as much as a call. */
export function toolSet<Caller>(tools: Tool<Caller>[], hints: Hints = {}): ToolSet<Caller> {
  return { listed: tools.map(asListed), byName: new Map(tools.map((tool) => [tool.name, tool])), hints }
}

/** An object, as text and as it is. */
export function result(structured: Record<string, unknown>): ToolOutput {
  return { text: structured, structured }
}

/** Check the arguments and run. Fails with `invalid_input`, and with what the tool fails with. */
export async function runTool<Caller>(
  tool: Tool<Caller>,
  caller: Caller,
  args: unknown,
  call: Call = { maxWaitSeconds: 0 },
): Promise<ToolOutput> {
  return await tool.run(caller, parse(tool.input, args ?? {}), call)
}

/**
 * What a run becomes for the client. Whatever the tool refuses, bad arguments too, is a result with
 * `isError` that a model can act on; an unexpected fault says nothing about itself and goes to the log.
 */
export async function toolResult(
  run: Promise<ToolOutput>,
  hints: Hints,
  log: Log,
  requestId: string,
): Promise<ToolResult> {
  try {
    const { text, structured, note } = await run
    const content = [textPart(JSON.stringify(text))]
    if (note !== undefined) content.push(textPart(note))
    return { content, structuredContent: structured }
  } catch (error) {
    return { content: [textPart(toolError(asGridError(error, log, requestId), hints))], isError: true }
  }
}

function textPart(text: string): { type: 'text'; text: string } {
  return { type: 'text', text }
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
