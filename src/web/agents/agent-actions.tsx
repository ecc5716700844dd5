/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Actions on an existing agent. Each form posts to its own path. */
import {
  addKey,
  type AgentUpdate,
  confirmAccess,
  reissueKey,
  removeAccess,
  revokeKey,
  updateAgent,
} from '../../grid/agents/agent-settings.ts'
import { eraseWords, keptElsewhere } from '../../grid/accounts/erase-words.ts'
import { deleteAgent } from '../../grid/agents/agents.ts'
import { setAgentSkills } from '../../grid/agents/skills.ts'
import { type AgentGuardrailInput, setAgentGuardrails } from '../../grid/guardrails/guardrails.ts'
import { setAutomated } from '../../grid/messaging/turns.ts'
import { requeueMessages } from '../../grid/messaging/parked.ts'
import { readCardAgain, setPaused, tryNow } from '../../grid/remote-agents/manage.ts'
import { revokeGrant } from '../../grid/oauth/grants.ts'
import { originOf, readChoice } from '../forms.tsx'
import type { AccountPages, Visit } from '../visit.ts'
import { showConnect } from './agent-connect.tsx'
import { agentOf } from './agent.tsx'
import { linesOf, textOf, visibilityIn, wordsOf } from './agent-fields.tsx'
import { showAgent } from './agent-now.tsx'
import { type ErasedWords, showSettings } from './agent-settings.tsx'
import { showKey, showKeyOnce } from './new-agent.tsx'

export function agentActions({ get, post, may }: AccountPages): void {
  const saved = (visit: Visit) => visit.done('saved', 'agents', visit.param('alias'), 'settings')

  get('/agents/:alias', showAgent)
  get('/agents/:alias/connect', showConnect)
  get('/agents/:alias/settings', showSettings)
  post('/agents/:alias/settings', async (visit) => {
    const { visibility } = await agentOf(visit)
    const input = updateOf(visit, visibility === 'public')
    await visit.record('update_agent', input, (account) => updateAgent(account, input))
    return saved(visit)
  }, showSettings)

  post('/agents/:alias/automated', async (visit) => {
    const input = { agent: visit.param('alias'), isAutomated: visit.form.get('automated') === 'yes' }
    await visit.record('set_automated', input, (account) => setAutomated(account, input))
    return saved(visit)
  }, showSettings)

  post('/agents/:alias/requeue', async (visit) => {
    const input = { agent: visit.param('alias') }
    await visit.record('requeue_messages', input, (account) => requeueMessages(account, input))
    return visit.done('requeued', 'agents', input.agent)
  }, showAgent)

  post('/agents/:alias/try-now', async (visit) => {
    const agent = visit.param('alias')
    await visit.record('try_remote_agent', { agent }, (account) => tryNow(account, agent))
    return visit.done('tried-remote', 'agents', agent)
  }, showAgent)

  post('/agents/:alias/pause', async (visit) => {
    const agent = visit.param('alias')
    const isPaused = readChoice(visit.form, 'paused', ['yes', 'no']) !== 'no'
    const name = isPaused ? 'pause_remote_agent' : 'resume_remote_agent'
    await visit.record(name, { agent }, (account) => setPaused(account, agent, isPaused))
    return visit.done(isPaused ? 'remote-paused' : 'remote-resumed', 'agents', agent)
  }, showAgent)

  post('/agents/:alias/read-card', async (visit) => {
    const agent = visit.param('alias')
    const found = await visit.record('read_remote_card', { agent }, (account) => readCardAgain(account, agent))
    return visit.done('card' in found ? 'card-read' : 'card-not-read', 'agents', agent)
  }, showAgent)

  const partnerOf = ({ param }: Visit) => ({ agent: param('alias'), partner: param('partner') })
  post('/agents/:alias/access/:partner/confirm', async (visit) => {
    const input = partnerOf(visit)
    await visit.record('confirm_access', input, (account) => confirmAccess(account, input))
    return visit.done('access-confirmed', originOf(visit.form) ?? 'attention')
  }, showSettings)
  post('/agents/:alias/access/:partner/remove', async (visit) => {
    const input = partnerOf(visit)
    await visit.record('remove_access', input, (account) => removeAccess(account, input))
    return visit.done('access-removed', originOf(visit.form) ?? 'attention')
  }, showSettings)

  post('/agents/:alias/skills', async (visit) => {
    const skills = linesOf(visit.form.get('skills') ?? '').map((name) => ({ name }))
    const input = { agent: visit.param('alias'), skills }
    await visit.record('admin_set_agent_skills', input, (account) => setAgentSkills(account, input))
    return saved(visit)
  }, showSettings)

  post('/agents/:alias/guardrails', async (visit) => {
    const input = { agent: visit.param('alias'), guardrails: guardrailsOf(visit.form) }
    await visit.record('admin_set_agent_guardrails', input, (account) => setAgentGuardrails(account, input))
    return saved(visit)
  }, showSettings)

  get('/agents/:alias/key', showKey)
  post('/agents/:alias/key', async (visit) => {
    const agent = visit.param('alias')
    const { apiKey } = await visit.record('reissue_agent_key', { agent }, (account) => reissueKey(account, agent))
    return await showKeyOnce(visit, agent, { apiKey, isNew: false })
  }, showConnect)
  post('/agents/:alias/keys', async (visit) => {
    const input = { agent: visit.param('alias'), name: textOf(visit.form, 'name') }
    const { apiKey } = await visit.record('add_agent_key', input, (account) => addKey(account, input))
    return await showKeyOnce(visit, input.agent, { apiKey, isNew: false, isFurther: true })
  }, showConnect)
  post('/agents/:alias/keys/:key/revoke', async (visit) => {
    const input = { agent: visit.param('alias'), key: visit.param('key') }
    await visit.record('revoke_agent_key', input, (account) => revokeKey(account, input))
    return visit.done('agent-key-revoked', 'agents', input.agent, 'connect')
  }, showConnect)

  post('/agents/:alias/programs/:grant/end', async (visit) => {
    const id = visit.param('grant')
    await visit.record('revoke_grant', { id }, (account) => revokeGrant(account, id))
    return visit.done('grant-ended', 'agents', visit.param('alias'), 'connect')
  }, showConnect)

  post('/agents/:alias/delete', async (visit) => {
    const alias = visit.param('alias')
    await visit.record('admin_delete_agent', { alias }, (account) => deleteAgent(account, alias))
    return visit.done('deleted', 'agents')
  }, showSettings)

  may('own').post('/agents/:alias/erase-words', async (visit) => {
    const alias = visit.param('alias')
    // The erasure runs in many units, so a separate unit stores the activity log entry.
    const { rows } = await visit.record('erase_words', { alias }, () => eraseWords(visit.account, alias))
    const erased: ErasedWords = { rows, kept: keptElsewhere(visit.account) }
    return await visit.showOnce(visit.path('agents', alias, 'settings'), erased)
  }, showSettings)
}

/** Returns the changes in the posted form. Settings without a field stay unchanged. */
function updateOf({ form, param }: Visit, isPublic: boolean): AgentUpdate {
  const accessPolicy = readChoice(form, 'accessPolicy', ['auto_approve', 'allow_list', 'block_list'])
  const isListed = accessPolicy !== 'auto_approve' && form.has('accessList')
  const messageReplies = readChoice(form, 'messageReplies', ['no', 'yes'])
  const remoteToken = form.has('forgetToken') ? null : form.get('remoteToken') || undefined
  return {
    agent: param('alias'),
    visibility: visibilityIn(form, isPublic),
    accessPolicy,
    accessList: isListed ? wordsOf(form.get('accessList')!) : undefined,
    description: form.has('description') ? textOf(form, 'description') : undefined,
    remoteUrl: form.get('remoteUrl')?.trim(),
    remoteToken,
    messageReplies: messageReplies && messageReplies === 'yes',
    callersWait: readChoice(form, 'callersWait', ['auto', 'yes', 'no']),
  }
}

/** Reads `direction-ID`, empty for a detached guardrail, and `action-ID`, which overrides the default action. */
function guardrailsOf(form: URLSearchParams): AgentGuardrailInput[] {
  const ids = [...form].filter(([name, value]) => name.startsWith('direction-') && value !== '')
    .map(([name]) => name.slice('direction-'.length))
  return ids.map((ref) => ({
    ref,
    direction: readChoice(form, `direction-${ref}`, ['both', 'inbound', 'outbound']),
    action: readChoice(form, `action-${ref}`, ['', 'block', 'hold', 'redact', 'flag']) || undefined,
  }))
}
