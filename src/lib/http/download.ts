/**
 * Downloads files so that no browser displays or executes them as a page of the grid: their senders chose type and
 * content.
 */

/** Returns a file's headers. `isText`: its bytes are UTF-8. */
export function downloadHeaders(
  { mediaType, filename, isText }: { mediaType: string; filename?: string; isText: boolean },
): Record<string, string> {
  return {
    'Content-Type': isText ? `${mediaType.split(';')[0]}; charset=utf-8` : mediaType,
    'Content-Disposition': `attachment${filename === undefined ? '' : asParameter(filename)}`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
  }
}

/** Returns the file name without folders. @see RFC 6266 §4.3, RFC 8187 §3.2 */
function asParameter(filename: string): string {
  const name = filename.split(/[/\\]/).at(-1)!.toWellFormed()
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  return /^\.*$/.test(name) ? '' : `; filename*=UTF-8''${encoded}`
}
