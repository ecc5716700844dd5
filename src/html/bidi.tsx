/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** User text inside our own text. See docs/security.md, "Pages". */

const directionControls = /[\u202a-\u202e\u2066-\u2069]/g
/** Hebrew, Arabic and the other blocks that Unicode keeps for scripts written from right to left. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Texts that `isolated` has prepared, and values that a form sends back as they are. */
const keptText = String.raw`<(?:title|option|textarea)\b[^>]*>[^<]*| (?:value|pattern)="[^"]*"`
const keptOrControl = new RegExp(`(${keptText})|${directionControls.source}`, 'g')

/**
 * A document with its direction controls as visible marks: `[U+202E]`. New names and messages have none; names of older
 * versions may, and the activity log shows what was refused.
 */
export function withVisibleControls(html: string): string {
  // Nearly every page has none.
  if (html.search(directionControls) === -1) return html
  return html.replace(keptOrControl, (found, kept?: string) => kept ?? visibleControls(found))
}

/** A text with its direction controls as visible marks. */
export function visibleControls(text: string): string {
  return text.replace(directionControls, (control) => `[U+${control.charCodeAt(0).toString(16).toUpperCase()}]`)
}

/** A name that a user chose, inside other text. Its direction does not reorder that text. */
export function Name({ text }: { text: string }) {
  return <bdi>{text}</bdi>
}

/** `Name` for places without elements, such as options and titles: Unicode isolates where the text needs them. */
export function isolated(text: string): string {
  const visible = visibleControls(text)
  return rightToLeft.test(visible) ? `\u2068${visible}\u2069` : visible
}
