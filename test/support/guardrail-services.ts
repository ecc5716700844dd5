/** Local services with the same interfaces as the remote guardrail providers. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { GuardedText, ProviderTools, Verdict } from '../../src/guardrails/provider.ts'
import { providers } from '../../src/guardrails/providers.ts'
import { createSafeFetch } from '../../src/lib/outbound/safe-fetch.ts'
import { createLog } from '../../src/log.ts'

export interface ServiceRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The body as received. */
  text: string
  // deno-lint-ignore no-explicit-any -- each provider sends another one
  body: any
}

export interface Service {
  url: string
  requests: ServiceRequest[]
  close(): Promise<void>
}

/** Starts a service on a free local port. `answer` gets each complete request. */
export async function startService(
  answer: (request: ServiceRequest, response: Parameters<RequestListener>[1]) => void,
): Promise<Service> {
  const requests: ServiceRequest[] = []
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk) => chunks.push(chunk))
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const { method = '', url = '', headers } = incoming
      const request = { method, path: url, headers, text, body: JSON.parse(text || 'null') }
      requests.push(request)
      answer(request, response)
    })
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((closed) => {
        server.closeAllConnections()
        server.close(() => closed())
      }),
  }
}

/** Starts a service that gives the same JSON answer to all requests. */
export function answering(answer: unknown | ((request: ServiceRequest) => unknown), status = 200): Promise<Service> {
  return startService((request, response) => {
    const body = typeof answer === 'function' ? answer(request) : answer
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
}

/** Each remote provider's configuration for a service, and an answer without objections. */
export const remoteProviders: Record<string, { config(url: string): unknown; token?: string; harmless: unknown }> = {
  'openai-moderation': {
    config: (baseUrl) => ({ baseUrl }),
    token: 'sk-token-of-moderation',
    harmless: { id: 'modr-1', model: 'omni', results: [{ flagged: false, categories: {}, category_scores: {} }] },
  },
  'lakera-guard': {
    config: (baseUrl) => ({ baseUrl }),
    token: 'token-of-lakera',
    harmless: { flagged: false, payload: [], breakdown: [], metadata: { request_uuid: 'x' } },
  },
  'azure-prompt-shields': {
    config: (endpoint) => ({ endpoint }),
    token: 'token-of-azure',
    harmless: {
      userPromptAnalysis: { attackDetected: false },
      documentsAnalysis: [{ attackDetected: false }],
    },
  },
  presidio: { config: (analyzerUrl) => ({ analyzerUrl }), harmless: [] },
  'llm-judge': {
    config: (url) => ({ baseUrl: `${url}/v1`, model: 'small', policy: 'No insults.' }),
    token: 'token-of-the-judge',
    harmless: { choices: [{ message: { role: 'assistant', content: '{"violation":false,"reason":"Fine."}' } }] },
  },
  webhook: {
    config: (url) => ({ url: `${url}/check?source=grid` }),
    token: `whsec_${Buffer.alloc(32, 'secret').toString('base64')}`,
    harmless: { decision: 'allow', reasons: [] },
  },
}

/** Options of a check. */
export interface CheckOptions {
  config?: Record<string, unknown>
  token?: string
  /** The environment. By default it allows private targets. */
  env?: Record<string, string>
  /** The time limit of the check. */
  deadlineMs?: number
  logs?: string[]
  now?: () => number
  onFetch?: () => void
}

/** Prepares a provider's check against a service. */
export function checkWith(id: string, url: string, options: CheckOptions = {}) {
  const provider = providers.find((provider) => provider.id === id)!
  const { config, token } = remoteProviders[id]
  const check = provider.prepare(provider.config.parse({ ...config(url) as object, ...options.config }))
  const { env = { ALLOW_PRIVATE_TARGETS: '1' }, deadlineMs = 5_000, logs = [], now = Date.now, onFetch } = options
  const log = createLog('debug', (line) => logs.push(line))
  const safeFetch = createSafeFetch({ config: readConfig(env), log, ownPorts: new Set() })
  return async (text: string, about: Partial<GuardedText> = {}): Promise<Verdict> => {
    const tools: ProviderTools = {
      fetch(url, request) {
        onFetch?.()
        return safeFetch(url, request)
      },
      token: 'token' in options ? options.token : token,
      signal: AbortSignal.timeout(deadlineMs),
      now,
    }
    return await check({ text, direction: 'inbound', sender: '@alice', recipient: '@bob', ...about }, tools)
  }
}

/** Returns the parts of a text that a verdict's spans cover. */
export function spanned(text: string, { spans }: Verdict): string[] | undefined {
  return spans?.map(({ start, end }) => text.slice(start, end))
}

/** Returns the only request that a service received. */
export function onlyRequest({ requests }: Service): ServiceRequest {
  expect(requests).toHaveLength(1)
  return requests[0]
}
