/** Finds keys and tokens of clouds, code hosts and other services, and of the grid. */
import { keyKind, keyPrefixes } from '../../../lib/secrets.ts'
import { type Candidate, type Detector, matching } from './detector.ts'

/**
 * Formats of keys of clouds, code hosts, models and services. The part after a prefix has a maximum length, so that a
 * text full of prefixes takes linear time. Public keys, such as Stripe's `pk_` keys, are omitted.
 */
const shapes = String.raw`
  (?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16} AIza[\w-]{35} GOCSPX-[\w-]{28} ya29\.[\w-]{20,500}
  (?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{43,86}={1,2} [\w~.-]{3}[78]Q~[\w~.-]{31,34} LTAI[A-Za-z0-9]{12,22}
  AKID[A-Za-z0-9]{32}
  gh[pousr]_[A-Za-z0-9]{36,255} github_pat_\w{22,255}
  gl(?:pat|dt|rt|ptt|cbt|oas|ft|imt|agent|soat|ffct)-[\w.-]{20,300} ATBB[A-Za-z0-9]{32} ATATT3[\w=-]{60,300}
  npm_[A-Za-z0-9]{36} pypi-AgE[\w-]{50,300} dckr_pat_[\w-]{20,60}
  sk-ant-[\w-]{20,200} sk-(?:proj|svcacct|admin|or-v1)-[\w-]{20,250} sk-[A-Za-z0-9]{32,64} hf_[A-Za-z0-9]{34,40}
  gsk_[A-Za-z0-9]{40,60} xai-[A-Za-z0-9]{40,100} pplx-[A-Za-z0-9]{40,60} r8_[A-Za-z0-9]{37} nvapi-[\w-]{60,70}
  xox[abeoprs]-[A-Za-z0-9-]{10,250} xapp-\d-[A-Z0-9]{8,20}-\d{8,20}-[a-f0-9]{32,80}
  https://hooks\.slack\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{16,30} \d{8,10}:AA[\w-]{33}
  [sr]k_(?:live|test)_[A-Za-z0-9]{16,250} whsec_[A-Za-z0-9+/]{24,90}={0,2} sq0(?:atp|csp)-[\w-]{22,50}
  SG\.[\w-]{16,32}\.[\w-]{32,64} key-[a-f0-9]{32} SK[a-f0-9]{32} do[opr]_v1_[a-f0-9]{64}
  shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32} dapi[a-f0-9]{32} hv[sbr]\.[\w-]{24,300}
  tskey-[a-z]{2,12}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{16,64} nfp_[A-Za-z0-9]{36} sbp_[a-f0-9]{40}
  glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8} NRAK-[A-Z0-9]{27} lin_api_[A-Za-z0-9]{32,48} ntn_[A-Za-z0-9]{40,60}
  AGE-SECRET-KEY-1[A-Z0-9]{58}`

const key = new RegExp(`(?<![\\p{L}\\p{N}])(?:${shapes.trim().split(/\s+/).join('|')})(?![A-Za-z0-9])`, 'gu')

const jsonWebToken = /(?<![\w-])eyJ[\w-]{10,4000}\.eyJ[\w-]{10,6000}\.[\w-]{10,1500}/g

/** A password in a URL. */
const userInfo =
  /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/?#@:<>"'`]{0,64}:([^\s/?#@<>"'`]{3,200})@(?=[\p{L}\p{N}[])/giu

/** A name that suggests a secret, followed by a value that looks like one. */
const assigned =
  /(?<![\p{L}\p{N}])(?:[a-z0-9]{1,20}[_-]){0,4}(?:api[_-]?key|secret|secret[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|client[_-]?secret|private[_-]?key|token|passw(?:or)?d|pwd)["']?[ \t]{0,3}(?::|=>?|:=)[ \t]{0,3}["']?([\w+/.~!#^*-]{16,200}={0,2})(?![\w({[$<])/giu

/** Credentials in an authorization header. @see RFC 9110 §11.6.2 */
const authorization =
  /(?<![\p{L}\p{N}])authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:basic|bearer|token)[ \t]{1,3}([\w+/.~-]{16,1000}={0,2})/giu

const begin = /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g
const end = /-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g

const ownKey = new RegExp(
  `(?<![A-Za-z0-9])(?:${Object.values(keyPrefixes).join('|')})[0-9A-Za-z]{49}(?![0-9A-Za-z])`,
  'g',
)

/** A run of characters that every key, token and value above contains. Most texts have no such run. */
const longRun = /[\w.~=+/!#^*\u0080-\uffff-]{15}/

export const apiKey: Detector = {
  id: 'api_key',
  kind: 'key or token',
  find: (text) => [
    ...(longRun.test(text) ? longKeys(text) : []),
    ...(text.includes('://') ? matching(text, userInfo, hasPassword) : []),
    ...(text.includes('-----BEGIN ') ? privateKeys(text) : []),
  ],
}

function longKeys(text: string): Candidate[] {
  return [
    ...matching(text, key, isRandom),
    ...matching(text, ownKey, ({ text }) => keyKind(text) !== undefined),
    ...matching(text, jsonWebToken),
    ...matching(text, authorization, ({ text }) => isCredential(text.split(/[ \t]/).at(-1)!)),
    ...matching(text, assigned, ({ text }) => isSecretValue(text)),
  ]
}

function hasPassword({ text }: Candidate): boolean {
  return !isPlaceholder(text.slice(text.indexOf(':', text.indexOf('//')) + 1, -1))
}

/** Matches from the first to the last line of a key. If the last line is missing, matches to the end of the text. */
function privateKeys(text: string): Candidate[] {
  const begins = matching(text, begin)
  const ends = matching(text, end)
  let next = 0
  return begins.map(({ start, end: headEnd }) => {
    while (next < ends.length && ends[next].start < headEnd) next++
    return { text: '', start, end: ends[next]?.end ?? text.length }
  })
}

/** Rejects sample keys in documentation, which have few distinct characters or a word such as `example`. */
function isRandom({ text }: Candidate): boolean {
  return !isPlaceholder(text) && new Set(text.slice(4)).size >= 8
}

function isPlaceholder(text: string): boolean {
  return /example|x{4}|\*{3}|\.{3}|your[_-]|placeholder|redacted|changeme|<[^>]*>|\$\{|%s|password$|^(?:pass|pw|secret|token)$/i
    .test(text)
}

/** Rejects identifiers that name a credential, such as `accessTokenOfUser`. */
function isCredential(text: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(text)).length
  return !isPlaceholder(text) && kinds >= 2 && !/^[A-Z]?[a-z]+(?:[A-Z][a-z]+)*$/.test(text) && new Set(text).size >= 8
}

function isSecretValue(text: string): boolean {
  const value = text.slice(text.search(/[:=]/)).replace(/^[^\w+/]+/, '').replace(/["']/g, '')
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(value)).length
  const isName = /^(?:[a-z]+|\d+)(?:[._/-](?:[a-z]+|\d+))+$/i.test(value) ||
    /^[a-z]+(?:[A-Z][a-z]+)*(?:\.|$)/.test(value) ||
    /[.!][a-z]{2,}/i.test(value)
  return !isName && !isPlaceholder(value) && kinds >= 2 && /\d/.test(value) && new Set(value).size >= 10
}
