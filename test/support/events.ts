/** Reads a response's server-sent events. */

export interface EventReader {
  /** Returns the next event. Skips comments and retry hints. Fails when the stream ends. */
  event(): Promise<string>
  /** Returns the next event, comment or retry hint; undefined when the stream has ended. */
  frame(): Promise<string | undefined>
  close(): Promise<void>
}

/** Reads events. Fails at an event without data, because A2A's Python clients cannot parse it. */
export function readEvents(response: Response): EventReader {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const eventIn = eventReader()
  let lines: string[] = []
  let rest = ''

  async function frame(): Promise<string | undefined> {
    for (;;) {
      for (let line; (line = lines.shift()) !== undefined;) {
        const found = eventIn(line)
        if (found !== undefined) return found
      }
      const { value, done } = await reader.read()
      if (done) return undefined
      lines = (rest + value).split('\n')
      rest = lines.pop()!
    }
  }

  return {
    frame,
    async event() {
      for (;;) {
        const found = await frame()
        if (found === undefined) throw new Error('The stream has ended')
        if (found.includes('data:')) return found
      }
    },
    close: () => reader.cancel(),
  }
}

/**
 * Parses lines by the rules of httpx-sse 0.4 (`SSEDecoder.decode`). After the first id in a stream, a blank line
 * dispatches an event even without data.
 */
export function eventReader(): (line: string) => string | undefined {
  let fields: string[] = []
  let hasId = false

  return function take(line) {
    if (line.startsWith(':') || line.startsWith('retry:')) {
      if (line.startsWith('retry:')) fields.push(line)
      return line
    }
    if (line !== '') {
      fields.push(line)
      hasId ||= line.startsWith('id:')
      return undefined
    }
    const dispatched = fields.filter((field) => !field.startsWith('retry:'))
    if (!dispatched.some((field) => field.startsWith('data:')) && (hasId || fields.length > 0)) {
      throw new Error(`An event without data is dispatched: ${JSON.stringify(fields)}`)
    }
    fields = []
    return dispatched.length > 0 ? dispatched.join('\n') : undefined
  }
}
