/**
 * Headers for downloads. They prevent browsers from displaying or executing a file as a page of the grid, because the
 * file's sender chose its type and content.
 */

/** Returns a file's headers. `isText` means that its bytes are UTF-8. */
export function downloadHeaders(
  { mediaType, filename, isText }: { mediaType: string; filename?: string; isText: boolean },
): Record<string, string> {
  return {
    'Content-Type': isText ? `${mediaType.split(';')[0]}; charset=utf-8` : mediaType,
    'Content-Disposition': `attachment${filename === undefined ? '' : asParameter(filename)}`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
  }
}

/** Returns the header parameter for a file name, without folders. @see RFC 6266 §4.3, RFC 8187 §3.2 */
function asParameter(filename: string): string {
  const name = filename.split(/[/\\]/).at(-1)!.toWellFormed()
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  return /^\.*$/.test(name) ? '' : `; filename*=UTF-8''${encoded}`
}
