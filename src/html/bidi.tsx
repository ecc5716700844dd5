/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Embeds user text in the grid's own text. See docs/security.md, "Pages". */

const directionControls = /[\u202a-\u202e\u2066-\u2069]/g
/** Hebrew, Arabic and the other blocks that Unicode reserves for right-to-left scripts. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Matches texts prepared by `isolated`, and values that a form must send back unchanged. */
const keptText = String.raw`<(?:title|option|textarea)\b[^>]*>[^<]*| (?:value|pattern)="[^"]*"`
const keptOrControl = new RegExp(`(${keptText})|${directionControls.source}`, 'g')

/**
 * Replaces direction controls in a document with visible marks: `[U+202E]`. New names and messages contain no direction
 * controls. Names from older versions may, and the activity log shows rejected input.
 */
export function withVisibleControls(html: string): string {
  // Skip the replacement on most pages, because they contain no direction controls.
  if (html.search(directionControls) === -1) return html
  return html.replace(keptOrControl, (found, kept?: string) => kept ?? visibleControls(found))
}

/** Replaces direction controls in a text with visible marks. */
export function visibleControls(text: string): string {
  return text.replace(directionControls, (control) => `[U+${control.charCodeAt(0).toString(16).toUpperCase()}]`)
}

/** A user-chosen name inside other text. Its direction does not reorder that text. */
export function Name({ text }: { text: string }) {
  return <bdi>{text}</bdi>
}

/** Like `Name`, for text that cannot contain elements, such as options and titles. Adds Unicode isolates if needed. */
export function isolated(text: string): string {
  const visible = visibleControls(text)
  return rightToLeft.test(visible) ? `\u2068${visible}\u2069` : visible
}
