/** What tests open and need not close: it is closed when its test ends, or its file, if `beforeAll` opened it. */

const opened: (() => Promise<void>)[] = []

/** Close this with the test or the file. Returns a function that closes it earlier; it is closed once. */
export function closing(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined
  const once = () => closed ??= close()
  opened.push(once)
  return once
}

/** How much is open, to close later what is opened from now on. */
export function openedSoFar(): number {
  return opened.length
}

/** Close what was opened after the first `kept`, the last first. */
export async function closeFrom(kept: number): Promise<void> {
  for (const close of opened.splice(kept).reverse()) await close()
}
