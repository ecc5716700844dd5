/** Finds matches of regular expressions. */
import { RE2JS, RE2JSException, RE2Set } from 're2js'
import * as z from 'zod'
import { type GuardedText, provider, RefusedConfig, type Span, text } from '../provider.ts'
import { joined } from './view.ts'

/**
 * Maximum number of instructions in one compiled expression, and in all expressions of a guardrail. They limit the cost
 * per character.
 */
const mostInstructions = 500
const mostInstructionsTogether = 2_000
/** Cache size of the automaton that searches for all expressions. A full cache is cleared. */
const automatonBytes = 512 * 1024
/** Memory per instruction, both for the expression and for the automaton. A class such as \pL has a large table. */
const instructionBytes = 1024
const classBytes = 16 * 1024

export const patterns = provider({
  id: 'patterns',
  name: 'Regular expressions',
  kind: 'local',
  description: 'Finds text that matches a regular expression, in linear time.',
  config: {
    patterns: z.array(text(500)).min(1).max(50).describe('RE2 expressions: no look-around, no back-references'),
  },
  prepare({ patterns }) {
    let instructions = 0
    const compiled = patterns.map((pattern, index) => {
      const program = compile(pattern, index)
      instructions += program.programSize()
      if (instructions <= mostInstructionsTogether) return program
      throw new RefusedConfig(
        'patterns',
        'The expressions together are too large. Move some of them to another guardrail.',
      )
    })
    const search = new RE2Set(RE2Set.UNANCHORED, 0, automatonBytes)
    for (const pattern of patterns) search.add(pattern)
    search.compile()
    const check = ({ text }: GuardedText) => {
      const matching = search.match(text).map((index) => compiled[index])
      if (matching.length === 0) return { kinds: [] }
      const effort = new Effort()
      const spans = joined(matching.flatMap((pattern) => spansOf(pattern, text, effort)))
      // An expression such as \b has only empty matches, so there are no spans, and the complete text is masked.
      return { kinds: ['text that is not allowed'], ...(spans.length > 0 && { spans }) }
    }
    const classes = patterns.reduce((sum, pattern) => sum + pattern.split(/\\p/i).length - 1, 0)
    const bytes = automatonBytes + instructions * instructionBytes + Math.min(classes, instructions) * classBytes
    return Object.assign(check, { bytes })
  },
})

function compile(pattern: string, index: number): RE2JS {
  const field = `patterns.${index}`
  const compiled = parse(pattern, field)
  if (compiled.programSize() > mostInstructions) {
    throw new RefusedConfig(field, 'This expression is too large. Repeat fewer times, or use fewer alternatives.')
  }
  if (compiled.test('')) {
    throw new RefusedConfig(field, 'This expression matches an empty text, so it would object to every message.')
  }
  return compiled
}

function parse(pattern: string, field: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const reason = error.message.replace(/^error parsing regexp: /, '')
    throw new RefusedConfig(field, `This is not a valid RE2 expression: ${reason}.`)
  }
}

/** Returns all matches. If the search becomes too expensive, the remaining text counts as one match. */
function spansOf(pattern: RE2JS, text: string, effort: Effort): Span[] {
  const spans: Span[] = []
  const matcher = pattern.matcher(text)
  for (let from = 0; matcher.find();) {
    const [start, end] = [matcher.start(), matcher.end()]
    if (!effort.allows(text.length - from)) return [...spans, { start, end: text.length }]
    spans.push({ start, end })
    from = end
  }
  return spans
}

/** Limits the search, because some expressions, such as `x*y|x`, scan the text once per match. */
class Effort {
  #characters = 0
  #startedAt = performance.now()

  /** Whether the search may read this many more characters. Time is limited only for unusually long searches. */
  allows(characters: number): boolean {
    this.#characters += characters
    return this.#characters < 1_000_000 || performance.now() - this.#startedAt < 20
  }
}
