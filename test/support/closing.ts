/** Closes resources that tests open: at the end of the test, or of the file if `beforeAll` opened them. */

const opened: (() => Promise<void>)[] = []

/** Closes a resource at the end of the test or file. Returns a function that closes it earlier, but only once. */
export function closing(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined
  const once = () => closed ??= close()
  opened.push(once)
  return once
}

/** Returns the number of open resources. Pass it to `closeFrom` to close the resources opened later. */
export function openedSoFar(): number {
  return opened.length
}

/** Closes everything opened after the first `kept` resources, in reverse order. */
export async function closeFrom(kept: number): Promise<void> {
  for (const close of opened.splice(kept).reverse()) await close()
}
