/** Renders a JSON payload as text. Templates contain no logic. See docs/protocol/incoming.md, "Templates". */
import { printable } from '../../lib/redact.ts'
import type { HookFormat } from './store.ts'

export const maxTextLength = 10_000
/** Maximum length of a filled template before it is cleaned. */
const maxSource = 4 * maxTextLength
const maxSummaryLines = 10
const maxSummaryValue = 200

/** Templates by the value of `X-GitHub-Event`. @see https://docs.github.com/en/webhooks/webhook-events-and-payloads */
const github: Record<string, string> = {
  push: `{{repository.full_name}}: {{pusher.name}} pushed to {{ref}}
{{head_commit.message}}
{{compare}}`,
  pull_request: `{{repository.full_name}}: {{sender.login}} {{action}} pull request #{{number}}
{{pull_request.title}}
{{pull_request.html_url}}`,
  issues: `{{repository.full_name}}: {{sender.login}} {{action}} issue #{{issue.number}}
{{issue.title}}
{{issue.html_url}}`,
  workflow_run:
    `{{repository.full_name}}: {{workflow_run.name}} on {{workflow_run.head_branch}} {{action}} {{workflow_run.conclusion}}
{{workflow_run.html_url}}`,
}

/** Template for Alertmanager. @see https://prometheus.io/docs/alerting/latest/configuration/#webhook_config */
const alertmanager = `{{status}}: {{commonLabels.alertname}} {{commonLabels.severity}} {{commonLabels.instance}}
{{commonAnnotations.summary}}
{{commonAnnotations.description}}
{{alerts.0.generatorURL}}`

/** Renders a payload as text. Undefined if its event has no text. */
export function textOfPayload(
  { format, template }: { format: HookFormat; template: string },
  payload: unknown,
  githubEvent: string | null,
): string | undefined {
  if (format === 'github' && (githubEvent === null || !Object.hasOwn(github, githubEvent))) return undefined
  const templates = { summary: '', template, alertmanager, github: github[githubEvent ?? ''] }
  return harmless(filled(templates[format], payload)) || harmless(summaryOf(payload))
}

function filled(template: string, payload: unknown): string {
  const value = (_: string, path: string) => valueAt(payload, path.split('.')).slice(0, maxTextLength)
  const text = template.replace(/\{\{\s*([\w$.-]{1,200})\s*\}\}/g, value).slice(0, maxSource)
  // Trims without a regular expression, which would take quadratic time.
  return text.split('\n').map((line) => line.trimEnd()).filter((line) => line !== '').join('\n').trim()
}

/** Reads own properties only. Returns an empty string for a missing property, an object or a list. */
function valueAt(value: unknown, [name, ...rest]: string[]): string {
  if (name === undefined) return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : ''
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? valueAt((value as Record<string, unknown>)[name], rest)
    : ''
}

function summaryOf(payload: unknown): string {
  if (typeof payload === 'string') return payload
  if (typeof payload !== 'object' || payload === null) return String(payload)
  const lines = Object.entries(payload).filter(([, value]) => typeof value === 'string' && value !== '')
    .slice(0, maxSummaryLines).map(([name, value]) => `${name}: ${String(value).slice(0, maxSummaryValue)}`)
  return lines.length > 0 ? lines.join('\n') : `JSON with ${Object.keys(payload).length} members`
}

/**
 * Removes mentions, and links other than `https:`. Truncates the text to its limit. The message's data part contains
 * the complete payload.
 */
function harmless(text: string): string {
  return Array.from(printable(text.slice(0, maxSource))).slice(0, maxTextLength).join('')
    .replace(/[a-z\d+.-]{0,40}:\/\//gi, (scheme) => /https:\/\/$/i.test(scheme) ? scheme : '')
    .replace(/\]\((?!\s*<?https:\/\/)/gi, '] (')
    // Mentions are removed last, because removed text may have separated an `@` from a name.
    .replace(/(?<![\p{L}\p{N}_.+-])@(?=[a-z0-9@])/giu, '')
}
