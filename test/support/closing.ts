/** Closes resources that tests open: when the test ends or, if `beforeAll` opened them, when its file ends. */

const opened: (() => Promise<void>)[] = []

/** Closes this with the test or the file. Returns a function that closes it earlier. It is closed only once. */
export function closing(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined
  const once = () => closed ??= close()
  opened.push(once)
  return once
}

/** Returns the number of open resources, so that those opened later can be closed together. */
export function openedSoFar(): number {
  return opened.length
}

/** Closes everything opened after the first `kept` resources, in reverse order. */
export async function closeFrom(kept: number): Promise<void> {
  for (const close of opened.splice(kept).reverse()) await close()
}
