/**
 * Deliberate faults, each with the tests that have to fail because of it. `npm run mutants` tries them, and
 * `test/scripts/mutants.test.ts` checks that each text still occurs once in its file.
 *
 * To add one: a short text from a place that rarely changes, a fault that still runs, and the smallest test file that
 * should notice. A fault that changes nothing a caller could see is none.
 */

/** One fault: `text`, which occurs once in `file`, is replaced. */
export interface Fault {
  file: string
  text: string
  replacement: string
  /** The test file that has to fail. */
  killer: string
}

type Row = readonly [text: string, replacement: string, killer: string]

const messaging: Record<string, Row[]> = {
  'src/store/account/messages.ts': [
    ['${trials.used} >= ${trials.max}', '${trials.used} > ${trials.max}', 'grid/messaging/send-message'],
    ["${trials.expiresAt} <= ${p('at')}", "${trials.expiresAt} < ${p('at')}", 'grid/messaging/send-message'],
    ['      isNull(recipient.deletedAt),\n', '', 'grid/messaging/send-path'],
    [
      "      or(eq(recipient.accountId, p('account')), acceptsMessagesOf(recipient, { alias: sender.alias, id: sender.id })),\n",
      '',
      'grid/messaging/access-at-commit',
    ],
    ['isNull(channels.deletedAt),\n', '', 'grid/messaging/access-at-commit'],
    ["          eq(channelMembers.agentId, p('from')),\n", '', 'grid/messaging/access-at-commit'],
    ['            isNull(sender.deletedAt),\n', '', 'grid/messaging/access-at-commit'],
    ['            trialIsOpen,\n', '', 'store/writes'],
    ['            keyIsUnused,\n', '', 'grid/messaging/idempotency'],
    ['max(${trials.used}, (${numberOfMessage}))', '${trials.used} + 1', 'grid/messaging/send-path'],
    ['      receipt: null,\n', '', 'grid/messaging/idempotency'],
    ['excluded.message_id', 'idempotency_keys.message_id', 'grid/messaging/idempotency'],
    [", eq(messages.fromAgentId, p('from'))", '', 'grid/messaging/send-message'],
  ],
  'src/store/account/new-message.ts': [
    ['body.length + (a2a?.length ?? 0)', 'body.length', 'grid/messaging/parts'],
  ],
  'src/store/account/inbox.ts': [
    ["half(isRead, 'afterRead')", "half(isUnread, 'afterRead')", 'grid/messaging/read-again'],
    ["gte(deliveries.createdAt, p('from'))", "gt(deliveries.createdAt, p('from'))", 'grid/messaging/read-again'],
    ["NOT IN ('parked', 'withdrawn')", "NOT IN ('withdrawn')", 'grid/messaging/parking'],
    ['offset(lastLeaseDepth - 1)', 'offset(lastLeaseDepth)', 'grid/messaging/read-again'],
    ['max(${either.leaseId})', 'min(${either.leaseId})', 'grid/messaging/read-again'],
  ],
  'src/store/account/unread.ts': [
    [", sql`${deliveries.state} = 'unread'`)", ')', 'grid/messaging/message-status'],
    ['maxCountedUnread = 100', 'maxCountedUnread = 101', 'grid/messaging/message-status'],
  ],
  'src/store/account/inbox-message.ts': [
    ['eq(messages.accountId, deliveries.senderAccountId), ', '', 'store/account-isolation'],
    ['orderBy(deliveries.seq)', 'orderBy(deliveries.messageId)', 'grid/messaging/order'],
    ['maxSenderSkills = 10', 'maxSenderSkills = 11', 'grid/messaging/send-message'],
  ],
  'src/store/account/leases.ts': [
    [
      "orderBy(deliveries.seq).limit(p('limit')).as('oldest')",
      "orderBy(deliveries.messageId).limit(p('limit')).as('oldest')",
      'grid/messaging/order',
    ],
    [', notExists(lease))', ')', 'store/writes'],
    ['eq(summed.total, summed.chars)', 'sql`false`', 'grid/messaging/claim'],
    ["coalesce(${deliveries.wokenAt}, ${p('wokenAt')})", "${p('wokenAt')}", 'grid/messaging/message-status'],
    ['ofAgent, ofLease, isInFlight)).toSQL()', 'ofAgent, ofLease)).toSQL()', 'worker/leases'],
    ['${deliveries.releaseCount} + 1` })', '${deliveries.releaseCount} + 0` })', 'grid/messaging/waking'],
    ['isNotNull(agents.deletedAt)', 'isNull(agents.deletedAt)', 'grid/messaging/message-status'],
    ["state: 'parked', leaseId: null", "state: 'unread', leaseId: null", 'grid/messaging/parking'],
    ['isNull(deliveries.wokenAt), ', '', 'grid/messaging/message-status'],
  ],
  'src/store/account/message-status.ts': [
    [
      "inAccount(deliveries, eq(deliveries.agentId, p('agent')))",
      'inAccount(deliveries)',
      'grid/messaging/message-status',
    ],
    ['        eq(deliveries.senderAccountId, messages.accountId),\n', '', 'store/account-isolation'],
    ["eq(deliveries.senderAccountId, p('account')), ", '', 'store/account-isolation'],
    [", eq(leaseReleases.messageId, p('id'))", '', 'grid/messaging/message-status'],
  ],
  'src/grid/messaging/message-status.ts': [
    ['isOwn && wokenAt !== null', 'wokenAt !== null', 'grid/messaging/message-status'],
    ['events.slice(-maxTimeline)', 'events.slice(0, maxTimeline)', 'grid/messaging/message-status'],
    [
      'isRead(state) && readAt !== null && !isLeased ?',
      'readAt !== null && !isLeased ?',
      'grid/messaging/message-status',
    ],
    ["recipient.type === 'a2a'", "recipient.type === 'x'", 'grid/messaging/message-status'],
  ],
  'src/store/account/receipts.ts': [
    [
      "gt(agents.lastSeenAt, p('activeSince'))",
      "sql`${agents.lastSeenAt} >= ${p('activeSince')}`",
      'grid/messaging/message-status',
    ],
    ['coalesce(${idempotencyKeys.receipt}, ${receipt})', '${receipt}', 'grid/messaging/send-path'],
  ],
  'src/store/account/fan-out.ts': [
    ["    ne(channelMembers.agentId, p('from')),\n", '', 'grid/messaging/send-message'],
    ["sql`coalesce(${ofChange('$.isLeftOut')}, 0) = 0`", 'sql`true`', 'grid/guardrails/channels'],
    ["ofChange<string | null>('$.a2a')", 'sql<null>`NULL`', 'grid/guardrails/channels'],
  ],
  'src/store/account/guarding.ts': [
    ['  sql`${guardrails.enabled}`,\n', '', 'grid/guardrails/guardrails'],
    [", eq(guardrailExceptions.textHash, p('hash'))", '', 'grid/guardrails/cases'],
  ],
  'src/store/account/verdicts.ts': [
    ['sql`NOT ${isStored}`', 'sql`true`', 'grid/guardrails/cases'],
  ],
  'src/grid/messaging/check-guardrails.ts': [
    [
      'checkRecipients(outgoing, sent, ',
      'checkRecipients(outgoing, { ...sent, content: { body: outgoing.message.body } }, ',
      'grid/guardrails/guardrails',
    ],
    ['  if (!keepsContents) return null\n', '', 'grid/guardrails/cases'],
  ],
  'src/store/account/parts.ts': [
    ["      eq(messages.fromAgentId, p('agent')),\n", '', 'grid/messaging/parts'],
    ['      not(isRedactedByOthers(db)),\n', '', 'grid/guardrails/other-account'],
    ['and(isWanted, isNull(deliveries.a2a))', 'isWanted', 'grid/guardrails/channels'],
    ["      eq(deliveries.agentId, p('agent')),\n", '', 'grid/messaging/parts'],
  ],
  'src/grid/messaging/read-again.ts': [
    ['budget.limit + 1)', 'budget.limit)', 'grid/messaging/read-again'],
    ['at - maxClockSkewMs', 'at', 'grid/messaging/read-again'],
    ['page.at(-1)?.seq ?? from', 'found.at(-1)?.seq ?? from', 'grid/messaging/read-again'],
    ["message.state === 'read' && ", '', 'grid/messaging/read-again'],
  ],
  'src/grid/messaging/read-messages.ts': [
    ['if (messages.length === 0 && mayFindMore) continue', '', 'grid/messaging/parking'],
    ['.catch((error) => releaseUnknown(account, lease, error))', '', 'grid/messaging/unknown-outcome'],
  ],
  'src/grid/messaging/inbox-message.ts': [
    ['(total > maxChars && n > 0)', 'total > maxChars', 'grid/messaging/read-again'],
    ['message.releaseCount > 0', 'message.releaseCount > 1', 'grid/messaging/waking'],
  ],
  'src/grid/messaging/cursor.ts': [
    ['crc32(`${agentId}.${position}`)', 'crc32(position)', 'grid/messaging/read-again'],
    ['epoch !== account.epoch', 'false', 'grid/messaging/read-again'],
  ],
  'src/grid/messaging/idempotency.ts': [
    ['keyLifetimeMs = 7 * day', 'keyLifetimeMs = 6 * day', 'grid/messaging/idempotency'],
    ['earlier.requestHash !== requestHash', 'false', 'grid/messaging/idempotency'],
  ],
}

const waiting: Record<string, Row[]> = {
  'src/grid/messaging/leases.ts': [
    ['    waiting.notifier.notify([agentId])\n', '', 'grid/messaging/waking'],
  ],
  'src/grid/messaging/resolve.ts': [
    ['deliveries.map((row)', 'deliveries.slice(0, 1).map((row)', 'grid/messaging/waking'],
  ],
  'src/grid/messaging/send-message.ts': [
    ['  if (!message.isInTaskAlone) notifier.notify(reached)\n', '', 'grid/messaging/waking'],
    ["  if (checked === '') throw", '  if (false) throw', 'mcp/invisible-text'],
  ],
  'src/grid/messaging/wait-for-messages.ts': [
    ['if (!isFirst) await check?.()', '', 'grid/messaging/waiting'],
    ['    unsubscribe()\n', '', 'grid/messaging/waking'],
    ['    releaseSlot?.()\n', '', 'grid/messaging/waiting'],
  ],
  'src/grid/messaging/watch-inbox.ts': [
    ['now() - openedAt < maxAgeMs', 'true', 'grid/messaging/waiting'],
    ['if (wasWoken && !await isStillValid(check)) return', '', 'grid/messaging/waiting-ends'],
  ],
  'src/lib/time.ts': [['now < since || ', '', 'grid/messaging/waiting']],
  'src/lib/notifier.ts': [
    ['for (const id of agentIds)', 'for (const id of [...agentIds].slice(0, 1))', 'grid/messaging/waking'],
    ['    this.#isRaised = true\n', '', 'lib/notifier'],
  ],
  'src/store/new-deliveries.ts': [
    ['      if (!isAlone || notifier.hasWatchers) notifier.notifyAll()\n', '', 'store/new-deliveries'],
    ['    known = position\n', '', 'store/new-deliveries'],
  ],
}

const scoping: Record<string, Row[]> = {
  'src/store/account/inbox-number.ts': [
    [
      "p('account')), ...conditions.map((condition) => condition && sql`(${condition})`)",
      "p('account')), ...conditions",
      'store/account-isolation',
    ],
    ["{ ...row, accountId: p('account') }", "{ accountId: p('account'), ...row }", 'store/account-isolation'],
  ],
  'src/store/driver/binding.ts': [
    [
      "parameter.name === 'account' && account !== undefined ? account : values[parameter.name]",
      'values[parameter.name] ?? account!',
      'store/account-isolation',
    ],
  ],
  'src/store/account/names.ts': [
    ['${selectChannels} WHERE account_id = :account AND id', '${selectChannels} WHERE id', 'store/account-isolation'],
    ['WHERE account_id = :account AND alias', 'WHERE alias', 'store/account-isolation'],
    ['FROM invitations WHERE account_id = :account AND', 'FROM invitations WHERE', 'isolation-statements'],
    ['FROM oauth_grants WHERE account_id = :account AND', 'FROM oauth_grants WHERE', 'isolation-statements'],
  ],
  'src/store/account/channels.ts': [
    ['eq(channelMembers.accountId, channels.accountId), ', '', 'store/account-isolation'],
    ['eq(member.accountId, agents.accountId)', 'eq(member.agentId, agents.id)', 'store/account-isolation'],
    ["(${inChannel}) <= ${p('max')}", "(${inChannel}) <= ${p('max')} + 1", 'web/channels/channels'],
  ],
  'src/store/account/directory.ts': [
    ["isElsewhere = ne(agents.accountId, p('account'))", 'isElsewhere = sql`true`', 'mcp/search-agents'],
    [' && !(await account.one(aliasLive, { alias }))', '', 'isolation'],
  ],
  'src/store/account/retention.ts': [
    [
      'deliveries.message_id = first.id AND deliveries.sender_account_id = :account',
      'deliveries.message_id = first.id',
      'store/account-isolation',
    ],
    ['first.created_at <= :until', 'true', 'worker/retention'],
  ],
  'src/store/account/access.ts': [
    ['THEN ${isListed} ELSE NOT ${isListed}', 'THEN NOT ${isListed} ELSE ${isListed}', 'grid/messaging/send-message'],
    ["    eq(agent.visibility, sql`'public'`),\n", '', 'grid/messaging/send-message'],
    [', isClaimed(agent.accountId)', '', 'rest/signup-accounts'],
    [", isClaimed(p('account'))", '', 'rest/signup-accounts'],
    ['and(isNull(agent.deletedAt), ', 'and(', 'grid/messaging/access-at-commit'],
    ['and(not(isBlocked), hasWritten)', 'hasWritten', 'grid/messaging/right-to-answer'],
    [', eq(deliveries.strangerId, agent.id)', '', 'grid/messaging/right-to-answer'],
  ],
  'src/store/account/agents.ts': [
    ["ne(agents.accountId, p('account'))", 'sql`false`', 'store/account-isolation'],
  ],
}

const authentication: Record<string, Row[]> = {
  'src/auth/bearer.ts': [
    ['previous && accountIds.get(previous) !== accountIds.get(account)', 'false', 'grid/messaging/waiting-ends'],
    ['isUnlimited: credential.onTrial === 0', 'isUnlimited: true', 'rest/signup'],
    ['if (isRefusedKey(error)) {', 'if (error) {', 'auth/call-limits'],
    ['at - (recordedUses.get(credential.id) ?? 0) < lastUsedPrecisionMs', 'false', 'auth/bearer'],
  ],
  'src/auth/session.ts': [
    [
      "origins.includes(headers.get('origin') ?? '')",
      "origins.includes(headers.get('origin') ?? origins[0])",
      'web/people/sign-in',
    ],
    ["['same-origin', 'none'].includes", "['same-origin', 'same-site', 'none'].includes", 'web/people/sign-in'],
  ],
  'src/auth/actor.ts': [
    ["use: ['owner', 'admin', 'member'],", "use: ['owner', 'admin', 'member', 'viewer'],", 'oauth/consent-picker'],
    ["  if (actor.type === 'agent') {", '  if (false) {', 'auth/bearer'],
  ],
  'src/grid/authorize.ts': [
    ['[account.change.team.requireRole(actor.userId, permissions[permission])]', '[]', 'grid/people/team'],
  ],
  'src/store/global/credentials.ts': [
    ['      isNull(credentials.revokedAt),\n', '', 'auth/bearer'],
    ["whileUserMay('manage')", "whileUserMay('view')", 'auth/bearer'],
    ['        isNull(agents.deletedAt),\n', '', 'a2a/endpoint'],
  ],
  'src/store/global/sessions.ts': [
    [' AND sessions.expires_at > :now', '', 'web/people/sign-in'],
    [' AND sessions.last_seen_at > :idleSince', '', 'web/people/sign-in'],
    ['id = :id AND user_id = :user', 'id = :id', 'web/people/settings'],
  ],
  'src/lib/secrets.ts': [
    ['text.slice(at) === checksum(text.slice(0, at))', 'true', 'lib/secrets'],
  ],
  'src/lib/key-ring.ts': [
    ['additionalData: new TextEncoder().encode(context), ', '', 'lib/key-ring'],
  ],
  'src/lib/redact.ts': [
    [".replace(urlUser, '://…@')", '', 'lib/redact'],
    [".replace(linkToken, '/…')", '', 'lib/redact'],
    ['secretFields.test(key) && value', 'false', 'lib/redact'],
  ],
}

const limits: Record<string, Row[]> = {
  'src/lib/limits/token-bucket.ts': [
    ['if (now > bucket.at) bucket.tokens', 'bucket.tokens', 'lib/limits/token-bucket'],
    ['if (seconds === 0) bucket.tokens--', '', 'lib/limits/token-bucket'],
  ],
  'src/lib/limits/concurrency-limit.ts': [
    ['this.#count < this.#total', 'this.#count <= this.#total', 'lib/limits/concurrency-limit'],
    ['< this.#perGroup', '<= this.#perGroup', 'lib/limits/concurrency-limit'],
    ['slots[0]()', 'slots.at(-1)!()', 'grid/messaging/waiting'],
  ],
  'src/lib/http/body.ts': [
    ['++depth > maxDepth', '++depth >= maxDepth', 'lib/http/body'],
    ['if (char === backslash) i++', 'if (char === backslash) i += 0', 'lib/http/body'],
    ["protoAction: 'error'", "protoAction: 'ignore'", 'lib/http/body'],
  ],
  'src/lib/http/client-address.ts': [
    [".split(',').reverse()", ".split(',')", 'lib/http/client-address'],
    ['.slice(0, 4)', '.slice(0, 3)', 'lib/http/client-address'],
    ["!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(text)", 'false', 'lib/http/client-address'],
  ],
  'src/lib/outbound/egress-policy.ts': [
    ['(port >= firstUserPort && !blockedPorts.has(port))', 'port > 0', 'lib/outbound/safe-fetch-targets'],
    [
      "  if (url.port !== '') return Number(url.port)\n",
      '  if (Number(url.port)) return Number(url.port)\n',
      'lib/outbound/safe-fetch-targets',
    ],
    ['[...metadataServices, ...blockedTargets]', '[...blockedTargets]', 'lib/outbound/safe-fetch-targets'],
    ['|| address.match(publicIPv6))', '|| true)', 'lib/outbound/safe-fetch-targets'],
  ],
  'src/grid/messaging/quota.ts': [
    ['quota > 0 && used >= quota', 'quota > 0 && used > quota', 'grid/messaging/quota'],
    ['rowBytes * (1 + deliveries)', 'rowBytes', 'grid/messaging/quota'],
    ['day - now % day', 'day', 'grid/messaging/quota'],
  ],
  'src/store/account/usage.ts': [
    [' AND changes() > 0', '', 'grid/messaging/quota'],
    ['BETWEEN 1 AND', 'BETWEEN 1 AND 1 +', 'grid/messaging/quota'],
  ],
  'src/store/account/turns.ts': [
    ['json_each(${turns.agents}))`)', "json_each('[]'))`)", 'grid/messaging/runaway'],
    ['THEN 1 ELSE', 'THEN 2 ELSE', 'grid/messaging/runaway'],
  ],
  'src/store/global/attempts.ts': [
    [") >= allowed.value ->> 'max'`", ") > allowed.value ->> 'max'`", 'grid/people/throttle'],
    ["AND seen.subject = allowed.value ->> 'subject' ", '', 'grid/people/throttle'],
  ],
  'src/store/global/signups.ts': [
    ['    AND NOT EXISTS (${reachedByAddress})\n', '', 'rest/signup-limits'],
  ],
}

const edge: Record<string, Row[]> = {
  'src/edge.ts': [
    ['hosts.has(host.toLowerCase())', 'hosts.has(host)', 'edge'],
    ['origin !== null && !isAllowedOrigin(origin)', 'origin && !isAllowedOrigin(origin)', 'edge'],
    ["if (config.allowedOrigins.includes('*')) return", 'if (config.allowedOrigins) return', 'edge'],
    ['own.includes(origin) || config.allowedOrigins', 'config.allowedOrigins', 'edge'],
    ['      bodies.release(request)\n', '', 'overload'],
  ],
  'src/store/queue.ts': [
    ['isStatementFault(error) && group.length > 1', 'false', 'store/queue-failures'],
    ['results[next++].rows', 'results[next].rows', 'store/queue'],
    ['    if (this.#ended) return Promise.reject(stopped())\n', '', 'store/queue'],
    ['this.#deferred.splice(0, maxDeferredInGroup)', 'this.#deferred.splice(0)', 'store/queue-deferred'],
  ],
  'src/store/queue/lanes.ts': [
    ['this.#size >= maxWaiting', 'this.#size > maxWaiting', 'store/queue'],
    ['group.length >= maxUnits || rows >= maxRows', 'group.length >= maxUnits', 'store/queue'],
  ],
}

const retention: Record<string, Row[]> = {
  'src/worker/retention.ts': [
    ['retentionDays * day', 'retentionDays * day * 2', 'worker/retention'],
    ['usageKeptMs = 7 * day', 'usageKeptMs = 70 * day', 'grid/messaging/quota'],
    ['now - unclaimedMs, now', 'now, now', 'worker/unclaimed'],
    [
      "if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error",
      'throw error',
      'worker/unclaimed',
    ],
  ],
  'src/store/account/unclaimed.ts': [
    [" AND accounts.state = 'provisional'", '', 'worker/unclaimed'],
    ['trials.expires_at > :at', 'false', 'worker/unclaimed'],
    [' AND accounts.created_at <= :until', '', 'worker/unclaimed'],
  ],
  'src/worker/leases.ts': [
    ['missed >= maxMissedHeartbeats', 'missed > maxMissedHeartbeats', 'worker/leases'],
    ['known.heartbeats === seen', 'known.heartbeats !== seen', 'worker/leases'],
    ['expiresAt !== null || holder !== instanceId', 'true', 'worker/leases'],
  ],
}

const oauth: Record<string, Row[]> = {
  'src/oauth/token.ts': [
    ['refreshTokenMs = 30 * day', 'refreshTokenMs = 31 * day', 'oauth/token-refresh'],
    ['Math.min(at + lifetimeMs, grantExpiresAt)', 'at + lifetimeMs', 'oauth/token-refresh'],
    ["token?.kind !== 'refresh' || token.clientId !== client.id", "token?.kind !== 'refresh'", 'oauth/token-refresh'],
    ['  await write([global.oauth.grants.revoke(now.accountId, now.grantId, at)])\n', '', 'oauth/token-refresh'],
    ['    if (resourceOf(requested) !== granted) {', '    if (false) {', 'oauth/token'],
  ],
  'src/store/global/oauth-tokens.ts': [
    ['          AND child.used_at IS NOT NULL', '          AND false', 'oauth/token-refresh'],
  ],
  'src/oauth/authorize-request.ts': [
    ["parameter(query, 'code_challenge_method') !== 'S256' || ", '', 'oauth/authorize'],
    ['  rejectRepeatedParameters(query)\n', '', 'oauth/authorize'],
    ['isSameRedirect(registered, redirectUri)) &&', 'isSameRedirect(registered, redirectUri)) ||', 'oauth/authorize'],
  ],
  'src/oauth/redirect-uri.ts': [
    [" || uri.includes('*')", '', 'oauth/redirect-uri'],
    ['responseParameters.some(', '[].some(', 'oauth/redirect-uri'],
    ['plainHost.test(url.hostname) && ', '', 'oauth/redirect-uri'],
    ['<= 65_535', '<= 99_999', 'oauth/redirect-uri'],
  ],
  'src/oauth/pkce.ts': [
    ['{43,128}', '{43,}', 'oauth/pkce'],
  ],
  'src/oauth/decision.ts': [
    ['grantLifetimeMs = 90 * day', 'grantLifetimeMs = 91 * day', 'oauth/token-refresh'],
    ['      parts.sessions.checkForm(request, form, visitor)\n', '', 'oauth/consent-decision'],
    ['        recording.change.grants.requireLive(id),\n', '', 'oauth/consent-decision'],
  ],
}

const trust: Record<string, Row[]> = {
  'src/lib/invisible-text.ts': [
    ['if (!suspicious.test(text)) return text', 'return text', 'lib/invisible-text'],
    ['[\\u{e0100}-\\u{e011f}]', '[\\u{e0100}-\\u{e01ef}]', 'lib/invisible-text'],
    ["return line.replace(directionMarks, '')", 'return line', 'lib/invisible-text'],
  ],
  'src/auth/actor.ts': [
    ['now >= confirmedAt && ', '', 'web/people/confirmation'],
    ['confirmedForMs = 10 * minute', 'confirmedForMs = 12 * minute', 'web/people/confirmation'],
  ],
  'src/auth/session.ts': [
    ['!session || session.awaitsSecondFactor) return', '!session) return', 'web/people/second-factor'],
  ],
  'src/grid/people/passkeys.ts': [
    ['!passkey || (userId !== undefined && passkey.userId !== userId)', '!passkey', 'web/people/passkeys'],
    ['if (used.length === 0) throw', 'if (false) throw', 'web/people/passkeys'],
  ],
  'src/grid/people/lost-factor.ts': [
    ['if (await secondFactors.isBeyond(caller.userId, userId)) {', 'if (false) {', 'web/people/second-factor'],
  ],
  'src/store/global/second-factors.ts': [
    ['isNewStep = `last_step < :step`', 'isNewStep = `true`', 'web/people/second-factor'],
    ['hash = :hash AND (used_by IS NULL', 'hash = :hash AND (true', 'web/people/second-factor'],
  ],
  'src/mcp/dispatcher.ts': [
    ['const checked = parse(method.params, params)', 'const checked = params', 'mcp/wrong-parameters'],
    ['if (method.spec && !isSpecType[method.spec](params)) {', 'if (false) {', 'mcp/wrong-parameters'],
    ['if (!method || (method.needs && !toolset[method.needs])) {', 'if (!method) {', 'mcp/methods'],
    ["isSpecType.ClientCapabilities(capabilities) ? 'modern' : undefined", "'modern'", 'mcp/era'],
    ["headers.get('mcp-method') !== method || ", '', 'mcp/era'],
  ],
  'src/mcp/era.ts': [
    ["if (typeof value === 'string' && value !== name) {", 'if (false) {', 'mcp/methods'],
  ],
  'src/mcp/arguments.ts': [
    ['if (isStrict) throw', 'if (false) throw', 'mcp/arguments'],
    ['others[to] !== undefined && others[to] !== given', 'false', 'mcp/arguments'],
  ],
}

const conversations: Record<string, Row[]> = {
  'src/grid/conversations/may-read.ts': [
    [
      "allows(reader.role, 'manage') ? reader.peopleReadSince",
      'true ? reader.peopleReadSince',
      'grid/conversations/may-read',
    ],
    ['from !== undefined && at >= from', 'from !== undefined', 'grid/conversations/may-read'],
    ['joined === undefined || at < joined', 'joined === undefined', 'grid/conversations/open'],
    [
      "agentId !== null && alias !== null && allows(role, 'use')",
      'agentId !== null && alias !== null',
      'grid/conversations/may-read',
    ],
  ],
  'src/grid/conversations/open.ts': [
    ['if (!mayRead(reader, place, message.createdAt)) return []', '', 'web/conversations/conversations'],
    ['[...messages, ...quoted.values()]', 'messages', 'grid/conversations/open'],
    [
      '...await readable(account, reader, thread, others, null)',
      '...others as OpenMessage[]',
      'grid/conversations/open',
    ],
    ['found.filter(({ threadId }) => threadId === thread.id)', 'found', 'grid/conversations/open'],
    ['if (page.hasNewer || last', 'if (last', 'web/conversations/conversations'],
    ['if (!isGlance && since', 'if (since', 'web/live-browser'],
  ],
  'src/grid/conversations/list.ts': [
    [
      'mayRead(reader, places.get(thread.id)!, thread.lastAt) ? thread :',
      'true ? thread :',
      'web/conversations/conversations',
    ],
    ['if (hasOthers) await', 'if (false) await', 'web/conversations/conversations'],
  ],
  'src/grid/conversations/of-agent.ts': [
    ['if (messages.some(({ isMine }) => !isMine)) await', 'if (false) await', 'web/agents/agent-now'],
  ],
  'src/grid/conversations/open-message.ts': [
    [
      "if (!message) throw new GridError('not_allowed'",
      "if (!message) throw new GridError('unavailable'",
      'web/conversations/conversations',
    ],
    ['isReadable: false, body:', 'isReadable: false, text:', 'grid/conversations/open'],
    ['ofOthers.add(thread)', 'ofOthers.clear()', 'grid/conversations/open'],
  ],
  'src/grid/conversations/answer.ts': [
    ['message?.threadId === threadId ? message : undefined', 'message', 'grid/conversations/answer'],
    ['!other || other.isDeleted', '!other', 'grid/conversations/answer'],
  ],
  'src/grid/conversations/marks.ts': [
    ['which.seqs.includes(seq)', 'seq > 0', 'web/conversations/marks'],
    ['seq <= which.upTo', 'seq > 0', 'web/conversations/marks'],
  ],
  'src/grid/attention/attention.ts': [
    ["kind !== 'key' || allows(role, 'manage')", 'true', 'grid/attention/conditions'],
    ['!snooze || isWorse(condition, snooze.level)', '!snooze', 'grid/attention/snooze'],
  ],
  'src/store/account/snoozes.ts': [
    ['user_id = :user AND until > :at', 'until > :at', 'grid/attention/snooze'],
    ['user_id = :user AND kind = :kind', 'kind = :kind', 'grid/attention/snooze'],
  ],
  'src/grid/live/account-news.ts': [
    [
      'return mayRead(reader, placeOf(reader, { channelId, agents: [fromAgentId, toAgentId] }), at)',
      'return true',
      'web/live',
    ],
    ['missed.length > maxMissed,', 'false,', 'web/live'],
  ],
  'src/grid/live/watch-live.ts': [
    ['        if (isReplaced) return', '        if (false) return', 'web/live'],
  ],
  'src/web/live.ts': [
    ['{ isQuiet: true }', '{ isQuiet: false }', 'web/live'],
  ],
  'src/store/global/thread-projection.ts': [
    [
      "|| '/' || m.conversation_id ELSE ${pair} END AS key\n    FROM",
      "|| '/' ELSE ${pair} END AS key\n    FROM",
      'grid/conversations/threads',
    ],
    ['SET delivery_seq = excluded.delivery_seq', 'SET delivery_seq = 0', 'grid/conversations/threads'],
    ['SET seq = (SELECT max(seq) FROM', 'SET seq = (SELECT min(seq) FROM', 'worker/threads'],
  ],
  'src/store/account/thread-erasure.ts': [
    ['messages = threads.messages - lost.n', 'messages = threads.messages', 'worker/threads'],
    [' AND d.account_id <> m.account_id', ' AND false', 'worker/threads'],
  ],
  'src/store/account/thread-messages.ts': [
    ["WHEN ${deliveries.state} = 'parked' THEN 'unread' ELSE", 'ELSE', 'grid/conversations/messages'],
    ['iif(${isOurs}, ${column}, NULL)', '${column}', 'grid/conversations/messages'],
  ],
  'src/store/account/seats.ts': [
    [' AND agents.id = ${id} AND agents.deleted_at IS NULL', ' AND agents.id = ${id}', 'grid/conversations/answer'],
    [
      'WHERE messages.account_id = :account AND messages.from_agent_id = :agent AND',
      'WHERE messages.account_id = :account AND',
      'grid/conversations/answer',
    ],
  ],
  'src/grid/people/seats.ts': [
    ['    leases.parkUnread(agentId, at),\n', '', 'grid/people/seats'],
    ['    channels.removeAgent(agentId),\n', '', 'grid/people/seats'],
  ],
  'src/grid/people/team.ts': [
    ['    ...account.change.threads.forgetUser(member.userId),\n', '', 'grid/people/team'],
  ],
  'src/web/conversations/message.tsx': [
    [`        'Content-Security-Policy': "default-src 'none'; sandbox",\n`, '', 'web/conversations/message'],
  ],
  'src/web/conversations/composer.tsx': [
    ["inputError?.kind === 'unavailable' && form.get('key')", "form.get('key')", 'web/conversations/writing'],
  ],
}

const faulty: Record<string, Row[]> = {
  'src/store/driver/disk-space.ts': [
    ['!this.#hasFailed || await this.#canWrite(path)', 'true', 'store/driver/disk-space'],
    ['    this.isFull = true\n    this.#hasFailed = true\n', '    this.isFull = true\n', 'store/driver/disk-space'],
  ],
  'src/worker/clock.ts': [
    ['if (ahead > maxAheadMs) {', 'if (false) {', 'worker/clock'],
    ['    await endTrials(store, at)\n', '', 'worker/clock'],
  ],
  'src/lib/http/sent-answers.ts': [
    ['this.#settle(!this.#isReset)', 'this.#settle(true)', 'listen'],
    ['if (answers) answers.#settleSent(true)', '', 'listen'],
  ],
}

export const faults: Fault[] = [
  ...[messaging, waiting, scoping, authentication, limits],
  ...[edge, retention, oauth, trust, conversations, faulty],
]
  .flatMap((area) => Object.entries(area))
  .flatMap(([file, rows]) =>
    rows.map(([text, replacement, killer]) => ({ file, text, replacement, killer: `test/${killer}.test.ts` }))
  )
