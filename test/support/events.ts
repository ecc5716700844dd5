/** Reads the server-sent events of a response. */

export interface EventReader {
  /** The next frame with data. Skips comments and retry hints. Fails when the stream ends. */
  event(): Promise<string>
  /** The next frame of any kind; undefined when the stream has ended. */
  frame(): Promise<string | undefined>
  close(): Promise<void>
}

export function readEvents(response: Response): EventReader {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''

  async function frame(): Promise<string | undefined> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const found = text.slice(0, end)
        text = text.slice(end + 2)
        return found
      }
      const { value, done } = await reader.read()
      if (done) return undefined
      text += value
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
