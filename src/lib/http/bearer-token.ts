/** The token after the scheme `Bearer`, or undefined if the header is missing or malformed. @see RFC 6750 §2.1 */
export function bearerToken(authorization: string | null): string | undefined {
  return authorization?.match(/^Bearer +([^\s]+)$/i)?.[1]
}
