/** REST signup. Spec: "Signup", "Signup errors", "Limits"; grid.md section 5; security T4, T5, A3, A6, A7. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bearer } from '../../src/auth/bearer.ts'
import { hashForLookup } from '../../src/auth/secrets.ts'
import { createAgent, listAgents } from '../../src/grid/agents/agents.ts'
import { messageStatus } from '../../src/grid/messaging/message-status.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { listSkills } from '../../src/grid/agents/skills.ts'
import { hour } from '../../src/lib/time.ts'
import { dump, rows } from '../support/database.ts'
import { type TestGrid, testGrid, type TestGridOptions } from '../support/grid.ts'

let grid: TestGrid
let open: (options: TestGridOptions) => Promise<void>
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '100' } })
  open = async (options) => {
    await grid.close()
    grid = await testGrid(options)
  }
})
afterEach(() => grid.close())

describe('the answer', () => {
  test('is 201 with the key, the alias with @, the trial, the claim link and a ready configuration', async () => {
    await open({ env: { BASE_URL: 'https://api.grid.example', APP_URL: 'https://app.grid.example' } })
    const response = await signUp({ alias: 'zoe-agent' })
    const body = await response.json()

    expect(response.status).toBe(201)
    expect(body).toEqual({
      api_key: expect.stringMatching(/^grid_agt_[0-9A-Za-z]{49}$/),
      alias: '@zoe-agent',
      trial: {
        max_messages: 10,
        expires_in: '24 hours',
        claim_url: expect.stringMatching(/^https:\/\/app\.grid\.example\/claim\/[0-9A-Za-z]{43}$/),
      },
      mcp_config: {
        mcpServers: {
          'agent-grid': {
            type: 'http',
            url: 'https://app.grid.example/mcp/v1/grid',
            headers: { Authorization: `Bearer ${body.api_key}` },
          },
        },
      },
    })
  })

  test('holds a key that works at once', async () => {
    const { api_key } = await (await signUp({ alias: 'zoe-agent', description: 'finds things' })).json()
    const account = await bearer(grid.store)(`Bearer ${api_key}`)

    expect(account.actor).toMatchObject({ type: 'agent', alias: 'zoe-agent' })
    expect(await account.read.agents.byAlias('zoe-agent')).toMatchObject({
      type: 'mcp',
      visibility: 'private',
      accessPolicy: 'auto_approve',
      description: 'finds things',
      remoteUrl: null,
      createdAt: grid.clock.now,
    })
  })

  test('attaches the skills, each once', async () => {
    const account = await joined({ alias: 'zoe-agent', skills: ['search', 'sums', 'search', ' sums '] })

    expect(await listSkills(account, { agent: 'zoe-agent' })).toEqual([
      { name: 'search', description: '' },
      { name: 'sums', description: '' },
    ])
  })

  test('stores the hash of the claim link and not the link', async () => {
    const { trial } = await (await signUp({ alias: 'zoe-agent' })).json()
    const [row] = await signups('ann@owner.example')

    expect(row.claim_token_hash).toBe(hashForLookup(trial.claim_url.split('/').pop()))
  })

  test('grants a trial of 10 messages and 24 hours', async () => {
    const account = await joined({ alias: 'zoe-agent' })
    const agent = await account.read.agents.byAlias('zoe-agent')

    expect(await account.read.agents.trial(agent!.id)).toEqual({
      used: 0,
      max: 10,
      expiresAt: grid.clock.now + 24 * hour,
    })
  })

  test('ends the trial after 10 messages, whoever they go to', async () => {
    const account = await joined({ alias: 'zoe-agent' })
    await joined({ alias: 'zoe-helper' })
    for (let n = 0; n < 10; n++) await sendMessage(account, { to: 'zoe-helper', text: `${n}` })

    await expect(sendMessage(account, { to: 'zoe-helper', text: '11' })).rejects.toMatchObject({
      code: 'trial_expired',
    })
    expect((await readMessages(account, {})).messages).toEqual([])
  })
})

describe('errors', () => {
  test.each([
    ['of 2 characters', 'ab'],
    ['of 33 characters', 'a'.repeat(33)],
    ['empty', ''],
    ['in upper case', 'Zoe'],
    ['with @', '@zoe'],
    ['that begins with a hyphen', '-zoe'],
    ['that ends with a hyphen', 'zoe-'],
    ['with an underscore', 'zoe_agent'],
    ['with a space', 'zoe agent'],
    ['with a space before', ' zoe'],
    ['with a line end', 'zoe\n'],
    ['of two lines', 'zoe\nann'],
    ['with U+0000', 'zoe\0'],
    ['with an umlaut', 'zoë'],
    ['with a Cyrillic letter', 'аdmin1'],
    ['in full width', 'ｚｏｅ'],
    ['with a dotless i', 'zoı'],
    ['with a digit of another script', 'zoe٣'],
    ['with a zero-width space', 'zo\u200be'],
    ['with a lone surrogate', 'zoe\ud800'],
    ['that is SQL', "zoe'--"],
  ])('invalid_alias: alias does not meet the format (one %s)', async (_, alias) => {
    expect(await refusal({ alias })).toEqual({ status: 400, code: 'invalid_alias' })
  })

  test.each(['abc', 'a1b', '123', 'a'.repeat(32), 'a-b', 'a--b', `a${'-'.repeat(30)}b`])(
    'the alias %s meets the format',
    async (alias) => {
      expect((await signUp({ alias })).status).toBe(201)
    },
  )

  test('invalid_alias: no alias', async () => {
    expect(await refusal({ alias: undefined })).toEqual({ status: 400, code: 'invalid_alias' })
  })

  test('alias_taken: alias already in use, in whatever account', async () => {
    await signUp({ alias: 'zoe-agent' })

    expect(await refusal({ alias: 'zoe-agent' })).toEqual({ status: 409, code: 'alias_taken' })
    expect(await refusal({ alias: 'zoe-agent', owner_email: 'else@where.example' })).toMatchObject({
      code: 'alias_taken',
    })
    expect(await refusal({ alias: 'alice' })).toMatchObject({ code: 'alias_taken' })
  })

  test('alias_taken: the alias of a deleted agent of another account', async () => {
    await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, grid.alice.id])

    expect(await refusal({ alias: 'alice' })).toMatchObject({ status: 409, code: 'alias_taken' })
  })

  test('alias_taken: 30 racing signups for one alias make one agent', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => signUp({ alias: 'zoe-agent', owner_email: `a${n}@owner.example` })),
    )

    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    const codes = await Promise.all(answers.filter(({ status }) => status !== 201).map(codeOf))
    expect(codes).toEqual(Array(29).fill('alias_taken'))
    expect(await accountCount()).toBe(3)
  })

  test.each(['admin', 'channel', 'grid', 'system', 'support', 'all', 'everyone', 'here'])(
    'alias_reserved: alias is reserved (%s)',
    async (alias) => {
      expect(await refusal({ alias })).toEqual({ status: 409, code: 'alias_reserved' })
    },
  )

  test('alias_reserved: more by configuration, and always admin and channel', async () => {
    await open({ env: { RESERVED_ALIASES: 'Boss, @chief' } })

    for (const alias of ['boss', 'chief', 'admin', 'channel']) {
      expect(await refusal({ alias })).toEqual({ status: 409, code: 'alias_reserved' })
    }
    expect((await signUp({ alias: 'grid' })).status).toBe(201)
  })

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['a word', 'ann'],
    ['without a domain', 'ann@'],
    ['without a name', '@example.com'],
    ['with two @', 'ann@@example.com'],
    ['of a host without a dot', 'ann@localhost'],
    ['an IP address', 'ann@127.0.0.1'],
    ['in brackets', 'ann@[127.0.0.1]'],
    ['with a display name', 'Ann <ann@example.com>'],
    ['a list', 'ann@example.com, bob@example.com'],
    ['with a header', 'ann@example.com\r\nBcc: eve@example.com'],
    ['with a line end inside', 'ann@exam\nple.com'],
    ['with spaces inside', 'an n@example.com'],
    ['in quotes', '"ann"@example.com'],
    ['with a comment', 'ann(x)@example.com'],
    ['with two dots', 'ann..b@example.com'],
    ['with a dot at the end', 'ann.@example.com'],
    ['with a hyphen at a label', 'ann@-example.com'],
    ['of a name of 65 characters', `${'a'.repeat(65)}@example.com`],
    ['of 255 characters', `ann@${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`],
    ['with U+0000', 'ann\0@example.com'],
    ['that becomes a list when normalised', 'ann＠example.com，eve@example.com'],
  ])('invalid_email: owner_email invalid (%s)', async (_, owner_email) => {
    expect(await refusal({ owner_email })).toEqual({ status: 400, code: 'invalid_email' })
  })

  test.each([
    ['Ann@Owner.Example', 'ann@owner.example'],
    ['  ann@owner.example\t', 'ann@owner.example'],
    ['ann+tag@owner.example', 'ann+tag@owner.example'],
    ['ａｎｎ@owner.example', 'ann@owner.example'],
  ])('the address %j is stored as %s', async (owner_email, stored) => {
    expect((await signUp({ owner_email })).status).toBe(201)

    expect(await signups(stored)).toHaveLength(1)
  })

  test('signup_rate_limited: too many signups', async () => {
    await open({ env: { SIGNUP_PER_HOUR: '2' } })
    await signUp({ alias: 'one' })
    grid.clock.now += 600_000
    await signUp({ alias: 'two' })

    const response = await signUp({ alias: 'three' })

    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('3000')
    expect(await codeOf(response)).toBe('signup_rate_limited')
  })

  test.each([
    ['owner_email', { owner_email: 5 }],
    ['owner_email', { owner_email: null }],
    ['owner_email', { owner_email: ['ann@owner.example'] }],
    ['alias', { alias: 5 }],
    ['alias', { alias: null }],
    ['alias', { alias: { toString: 'zoe' } }],
    ['description', { description: 5 }],
    ['description', { description: 'x'.repeat(501) }],
    ['description', { description: 'a\0b' }],
    ['skills', { skills: 'search' }],
    ['skills', { skills: Array.from({ length: 21 }, (_, n) => `skill-${n}`) }],
    ['skills', { skills: [5] }],
    ['skills', { skills: [''] }],
    ['skills', { skills: ['  '] }],
    ['skills', { skills: ['x'.repeat(65)] }],
    ['skills', { skills: ['a\0b'] }],
    ['skills', { skills: { 0: 'search' } }],
  ])('invalid_request names the field %s: %j', async (field, input) => {
    const response = await signUp(input)
    const { error } = await response.json()

    expect(response.status).toBe(400)
    expect(error.code).toBe('invalid_request')
    expect(error.message.toLowerCase()).toContain(field.replace(/s$/, ''))
    expect(await accountCount()).toBe(2)
  })

  test.each([
    ['a description of 500 characters', { description: 'x'.repeat(500) }],
    ['20 skills of 64 characters', { skills: Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(64, 'x')) }],
    ['no skills', { skills: [] }],
    ['a description in many scripts', { description: 'Ω 漢字 🙂 עברית' }],
    ['a lone surrogate, which becomes well-formed', { description: 'a\ud800b' }],
  ])('%s is accepted', async (_, input) => {
    expect((await signUp(input)).status).toBe(201)
  })

  test.each([
    ['empty', ''],
    ['cut off', '{"alias":"zoe"'],
    ['no JSON', 'alias=zoe'],
    ['two values', '{} {}'],
    ['a list', '[]'],
    ['a text', '"zoe"'],
    ['null', 'null'],
    ['a number', '1e400'],
    ['with __proto__', '{"alias":"zoe","owner_email":"ann@owner.example","__proto__":{"x":1}}'],
    ['with an escaped __proto__', '{"alias":"zoe","owner_email":"ann@owner.example","\\u005f_proto__":{"x":1}}'],
    ['with constructor.prototype', '{"alias":"zoe","owner_email":"a@b.example","constructor":{"prototype":{"x":1}}}'],
    ['with __proto__ inside', '{"alias":"zoe","owner_email":"a@b.example","skills":[{"__proto__":{"x":1}}]}'],
    ['too deep', `{"alias":"zoe","owner_email":"a@b.example","x":${'['.repeat(8)}${']'.repeat(8)}}`],
    ['of too many values', `{"alias":"zoe","x":[${Array(501).fill(1)}]}`],
    ['deep enough to break a parser', '['.repeat(15_000)],
  ])('invalid_request: a body that is %s', async (_, body) => {
    const response = await post(body)

    expect(response.status).toBe(400)
    expect(await codeOf(response)).toBe('invalid_request')
    expect(({} as { x?: number }).x).toBeUndefined()
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('invalid_request: a body that is not UTF-8', async () => {
    const response = await post(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]))

    expect([response.status, await codeOf(response)]).toEqual([400, 'invalid_request'])
  })

  test.each([[16 * 1024, 201], [16 * 1024 + 1, 413]])('a body of %i bytes is answered %i', async (size, status) => {
    const start = '{"alias":"zoe","owner_email":"ann@owner.example","x":"'
    const body = `${start}${'x'.repeat(size - start.length - 2)}"}`
    expect(body).toHaveLength(size)

    const declared = await post(body, { 'Content-Length': `${size}` })
    const streamed = await post(streamOf(body.replace('zoe', 'two')), {})

    expect([declared.status, streamed.status]).toEqual([status, status])
    if (status === 413) expect(await codeOf(declared)).toBe('payload_too_large')
  })

  test('a declared length that is a lie does not help', async () => {
    const response = await post(JSON.stringify({ x: 'x'.repeat(20_000) }), { 'Content-Length': '10' })

    expect(response.status).toBe(413)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json-patch+json',
    'multipart/form-data',
    '',
  ])(
    'the content type %j is answered 415',
    async (type) => {
      const response = await post(JSON.stringify({ alias: 'zoe' }), { 'Content-Type': type })

      expect([response.status, await codeOf(response)]).toEqual([415, 'unsupported_media_type'])
    },
  )

  test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;'])(
    'the content type %j is JSON',
    async (type) => {
      const body = JSON.stringify({ alias: 'zoe', owner_email: 'ann@owner.example' })

      expect((await post(body, { 'Content-Type': type })).status).toBe(201)
    },
  )

  test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'])('the method %s is answered 405 with Allow', async (method) => {
    const response = await grid.request(path, { method })

    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
  })

  test('a credential on signup changes nothing', async () => {
    const body = { alias: 'zoe', owner_email: 'ann@owner.example' }

    const response = await grid.post(path, body, { Authorization: `Bearer ${grid.acme.adminKey}` })

    expect(response.status).toBe(201)
    expect(await grid.acme.store.read.agents.byAlias('zoe')).toBeUndefined()
  })

  test('unknown fields are ignored and have no effect', async () => {
    const before = [await dump(grid, grid.acme), await dump(grid, grid.evil)]
    const account = await joined({
      alias: 'zoe',
      accountId: grid.acme.id,
      account_id: grid.acme.id,
      home: grid.acme.id,
      id: grid.alice.id,
      userId: 'x',
      role: 'owner',
      scope: 'admin',
      type: 'human',
      visibility: 'public',
      accessPolicy: 'allow_list',
      remoteUrl: 'http://127.0.0.1',
      createdAt: 1,
      signupId: 'x',
      state: 'claimed',
      trial: { max_messages: 1_000 },
      ownerEmail: 'else@where.example',
      api_key: 'mine',
    })
    const agent = await account.read.agents.byAlias('zoe')

    expect(agent).toMatchObject({ type: 'mcp', visibility: 'private', remoteUrl: null, createdAt: grid.clock.now })
    expect(agent!.id).not.toBe(grid.alice.id)
    expect(account.actor.type).toBe('agent')
    expect(await account.read.agents.trial(agent!.id)).toMatchObject({ max: 10 })
    expect(await signups('ann@owner.example')).toHaveLength(1)
    expect([await dump(grid, grid.acme), await dump(grid, grid.evil)]).toEqual(before)
  })

  test('a refused signup stores nothing', async () => {
    await refusal({ alias: 'alice' })
    await refusal({ owner_email: 'x' })
    await refusal({ skills: Array(21).fill('x') })

    expect(await accountCount()).toBe(2)
    expect(await signups('ann@owner.example')).toEqual([])
  })
})

describe('limits per address', () => {
  const limited = () => open({ env: { SIGNUP_PER_HOUR: '10' } })

  test('20 parallel signups of one address store exactly SIGNUP_PER_HOUR', async () => {
    await limited()

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signUp({ alias: `zoe-${n}`, owner_email: `a${n}@owner.example` })),
    )

    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(201), ...Array(10).fill(429)])
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expect(answer.headers.get('retry-after')).toBe('3600')
    }
  })

  test.each([[hour - 1, 429], [hour, 201]])('the allowance is back after an hour (%i ms: %i)', async (ms, status) => {
    await open({ env: { SIGNUP_PER_HOUR: '1' } })
    await signUp({ alias: 'one' })
    grid.clock.now += ms

    expect((await signUp({ alias: 'two' })).status).toBe(status)
  })

  test('other addresses have their own allowance', async () => {
    await open({ env: { SIGNUP_PER_HOUR: '1' } })

    expect((await signUp({ alias: 'one' }, '203.0.113.7')).status).toBe(201)
    expect((await signUp({ alias: 'two' }, '203.0.113.8')).status).toBe(201)
    expect((await signUp({ alias: 'three' }, '203.0.113.7')).status).toBe(429)
  })

  test('100 requests with different forged headers count as one client', async () => {
    await limited()

    const answers = []
    for (let n = 0; n < 100; n++) {
      const headers = {
        'X-Forwarded-For': `198.51.100.${n}`,
        'X-Real-IP': `198.51.100.${n}`,
        Forwarded: `for=198.51.100.${n}`,
        'CF-Connecting-IP': `198.51.100.${n}`,
      }
      const body = { alias: `zoe-${n}`, owner_email: `a${n}@owner.example` }
      answers.push((await grid.post(path, body, headers)).status)
    }

    expect(answers.filter((status) => status === 201)).toHaveLength(10)
  })

  test('behind a trusted proxy the client is the one it names', async () => {
    await open({ env: { SIGNUP_PER_HOUR: '1', TRUSTED_PROXIES: '10.0.0.0/8' } })
    const via = (alias: string, forwarded: string) =>
      grid.post(path, { alias, owner_email: `${alias}@owner.example` }, { 'X-Forwarded-For': forwarded }, '10.0.0.1')

    expect((await via('one', '198.51.100.1')).status).toBe(201)
    expect((await via('two', '198.51.100.2')).status).toBe(201)
    expect((await via('three', '6.6.6.6, 198.51.100.1')).status).toBe(429)
  })

  test('an IPv6 client is its /64', async () => {
    await open({ env: { SIGNUP_PER_HOUR: '1' } })

    expect((await signUp({ alias: 'one' }, '2001:db8:1:2::1')).status).toBe(201)
    expect((await signUp({ alias: 'two' }, '2001:db8:1:2:ffff::9')).status).toBe(429)
    expect((await signUp({ alias: 'three' }, '2001:db8:1:3::1')).status).toBe(201)
  })
})

describe('whose the agent is', () => {
  test('signups with one unproved address share a provisional account and can write to each other', async () => {
    const one = await joined({ alias: 'zoe-one' })
    const two = await joined({ alias: 'zoe-two', owner_email: ' ANN@owner.example' })

    await sendMessage(one, { to: 'zoe-two', text: 'hi' })

    const { messages } = await readMessages(two, {})
    expect(messages).toMatchObject([{ user: '@zoe-one', message: 'hi', unverified: true }])
    expect((await readMessages(one, {})).messages).toEqual([])
    expect(await accountCount()).toBe(3)
  })

  test('signups with other addresses know nothing of each other', async () => {
    const one = await joined({ alias: 'zoe-one' })
    await joined({ alias: 'zoe-two', owner_email: 'else@where.example' })

    await expect(sendMessage(one, { to: 'zoe-two', text: 'hi' })).rejects.toMatchObject({ code: 'recipient_not_found' })
    expect((await listAgents(one, {})).agents).toEqual([])
  })

  test('an agent that signed up can do nothing an admin does', async () => {
    const account = await joined({ alias: 'zoe-one' })

    await expect(createAgent(account, { alias: 'more' })).rejects.toMatchObject({ code: 'wrong_credential' })
  })

  test('a claimed account is never joined: its owner keeps what there was', async () => {
    await joined({ alias: 'zoe-one' })
    await claim('zoe-one')
    const before = await agentsWith('zoe-one')

    const stranger = await joined({ alias: 'zoe-two' })

    expect(await agentsWith('zoe-one')).toEqual(before)
    await expect(sendMessage(stranger, { to: 'zoe-one', text: 'hi' })).rejects.toMatchObject({
      code: 'recipient_not_found',
    })
    expect(await accountCount()).toBe(4)
  })

  test('the address of an account made by a person opens another account', async () => {
    const before = await dump(grid, grid.acme)

    await joined({ alias: 'zoe-one', owner_email: 'ann@acme.example' })

    expect(await dump(grid, grid.acme)).toBe(before)
    expect(await accountCount()).toBe(3)
  })

  test('SIGNUP_JOIN=never gives every signup its own account', async () => {
    await open({ env: { SIGNUP_JOIN: 'never' } })
    const one = await joined({ alias: 'zoe-one' })
    await joined({ alias: 'zoe-two' })

    await expect(sendMessage(one, { to: 'zoe-two', text: 'hi' })).rejects.toMatchObject({ code: 'recipient_not_found' })
    expect(await accountCount()).toBe(4)
  })

  test('after 20 agents an account takes no more: the 21st opens another', async () => {
    for (let n = 0; n < 21; n++) expect((await signUp({ alias: `zoe-${n}` })).status).toBe(201)

    expect(await agentsWith('zoe-0')).toHaveLength(20)
    expect(await agentsWith('zoe-20')).toHaveLength(1)
    await signUp({ alias: 'zoe-21' })
    expect(await agentsWith('zoe-20')).toHaveLength(2)
  })

  test('50 racing signups with one new address end in accounts of at most 20, without an error', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => signUp({ alias: `zoe-${n}` })))
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201))

    const homes = await signups('ann@owner.example')
    const sizes = new Map<unknown, number>()
    for (const { account_id } of homes) sizes.set(account_id, (sizes.get(account_id) ?? 0) + 1)
    expect([...sizes.values()].sort()).toEqual([10, 20, 20])
  })

  test('50 signups racing a claim: none joins after it', async () => {
    await signUp({ alias: 'zoe-first' })

    const early = Array.from({ length: 25 }, (_, n) => signUp({ alias: `zoe-${n}` }))
    const claimed = claim('zoe-first')
    const late = Array.from({ length: 25 }, (_, n) => signUp({ alias: `zoe-${25 + n}` }))
    const answers = await Promise.all([...early, ...late])
    await claimed
    const atClaim = (await agentsWith('zoe-first')).length
    await signUp({ alias: 'zoe-last' })

    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201))
    expect(await agentsWith('zoe-first')).toHaveLength(atClaim)
    expect(await agentsWith('zoe-last')).not.toContain('zoe-first')
  })

  test('the answers are the same for a first, a joining and a separate signup, apart from key, alias and link', async () => {
    const first = await shape(await signUp({ alias: 'zoe-1' }))
    const joining = await shape(await signUp({ alias: 'zoe-2' }))
    await claim('zoe-1')
    const separate = await shape(await signUp({ alias: 'zoe-3' }))
    const ofPerson = await shape(await signUp({ alias: 'zoe-4', owner_email: 'ann@acme.example' }))

    expect([joining, separate, ofPerson]).toEqual([first, first, first])
  })

  test('provisional agents neither reach nor are reached by public agents of other accounts', async () => {
    await grid.acme.agent('desk', { visibility: 'public' })
    const account = await joined({ alias: 'zoe-one' })
    const [{ account_id }] = await signups('ann@owner.example')
    await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ?", [String(account_id)])
    const alice = await bearer(grid.store)(`Bearer ${grid.alice.key}`)

    await expect(sendMessage(account, { to: 'desk', text: 'hi' })).rejects.toMatchObject({
      code: 'recipient_not_found',
    })
    await expect(sendMessage(alice, { to: 'zoe-one', text: 'hi' })).rejects.toMatchObject({
      code: 'recipient_not_found',
    })
    expect((await listAgents(account, { public: true })).agents).toEqual([])
    expect((await listAgents(alice, { public: true })).agents).toEqual([])
  })

  test('after the claim they do, and are no longer marked unverified', async () => {
    await grid.acme.agent('desk', { visibility: 'public' })
    const account = await joined({ alias: 'zoe-one' })
    await claim('zoe-one')

    const { id } = await sendMessage(account, { to: 'desk', text: 'hi' })

    expect(await messageStatus(account, id)).toMatchObject({ recipient: '@desk', delivery: 'queued' })
  })
})

const path = '/api/v1/agentic-signup'

function signUp(input: Record<string, unknown>, address?: string): Promise<Response> {
  return grid.post(path, { owner_email: 'ann@owner.example', alias: 'zoe', ...input }, {}, address)
}

/** The account of a new agent, as its key opens it. */
async function joined(input: Record<string, unknown>) {
  const response = await signUp(input)
  expect(response.status).toBe(201)
  return bearer(grid.store)(`Bearer ${(await response.json()).api_key}`)
}

function post(body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body, duplex: 'half' }
  return grid.request(path, init)
}

async function refusal(input: Record<string, unknown>) {
  const response = await signUp(input)
  return { status: response.status, code: await codeOf(response) }
}

/** The code of an error, which has this shape and no other. */
async function codeOf(response: Response): Promise<string> {
  const body = await response.json()
  expect(body).toEqual({ error: { code: expect.any(String), message: expect.stringMatching(/^[A-Z\w].+/) } })
  return body.error.code
}

/** An answer without what must differ. */
async function shape(response: Response): Promise<string> {
  const text = (await response.text()).replace(/grid_agt_\w+/g, 'KEY').replace(/claim\/\w+/g, 'LINK')
    .replace(/@zoe-\d/g, 'ALIAS')
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id')
  return JSON.stringify([response.status, headers, text])
}

/** What a claim does to the account: it is somebody's, and takes no more signups. */
async function claim(alias: string): Promise<void> {
  const home = await homeOf(alias)
  await rows(grid, "UPDATE accounts SET state = 'claimed', join_email = NULL, claimed_at = 1 WHERE id = ?", [home])
}

async function homeOf(alias: string): Promise<string> {
  const accounts = await rows(grid, 'SELECT id FROM accounts')
  for (const { id } of accounts) {
    const found = await rows(grid, 'SELECT 1 FROM agents WHERE account_id = ? AND alias = ?', [String(id), alias])
    if (found.length > 0) return String(id)
  }
  throw new Error(`no agent ${alias}`)
}

async function agentsWith(alias: string): Promise<string[]> {
  const found = await rows(grid, 'SELECT alias FROM agents WHERE account_id = ? ORDER BY alias', [await homeOf(alias)])
  return found.map((row) => String(row.alias))
}

async function signups(email: string) {
  const accounts = await rows(grid, 'SELECT id FROM accounts')
  const found = await Promise.all(
    accounts.map(({ id }) =>
      rows(grid, 'SELECT * FROM signups WHERE account_id = ? AND owner_email = ?', [String(id), email])
    ),
  )
  return found.flat()
}

async function accountCount(): Promise<number> {
  return (await rows(grid, 'SELECT id FROM accounts')).length
}

function streamOf(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close()
      else controller.enqueue(bytes.subarray(at, at += 1_000))
    },
  })
}
