/** The cookie with the time zone of a browser. */
export const zoneCookie = 'grid-zone'

/** Tells the time zone of the browser, so that what is made without script uses it, from the next page on. */
export const zone = `
const zoneNow = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zoneNow && !document.cookie.split('; ').includes('${zoneCookie}=' + zoneNow)) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  document.cookie = '${zoneCookie}=' + zoneNow + '; Path=/; Max-Age=31536000; SameSite=Lax' + secure
}
`
