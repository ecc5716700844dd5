/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Sets up mirroring between a channel and a Slack channel, and links the visitor's Slack user. */
import type { Channel } from '../../grid/channels/channels.ts'
import { findPersonAlias } from '../../grid/people/person-aliases.ts'
import { Card, Facts, Notice } from '../../html/components.tsx'
import { PasswordInput, TextInput } from '../../html/fields.tsx'
import { ButtonForm, SubmitRow } from '../../html/form.tsx'
import { showSettings } from '../../web/channels/channel.tsx'
import { PageForm } from '../../web/forms.tsx'
import type { AccountPages, Visit, WebFeature } from '../../web/visit.ts'
import {
  askToLinkSlack,
  connectSlack,
  disconnectSlack,
  notifyOfSlack,
  slackEventsPath,
  unlinkSlack,
} from './connect.ts'
import { slackTables } from './store.ts'

export const notices = {
  connected: { code: 'slack-connected', text: 'The channel is mirrored with Slack. Its members are notified.' },
  ended: { code: 'slack-ended', text: 'The channel is no longer mirrored with Slack.' },
  unlinked: { code: 'slack-unlinked', text: 'What you write in Slack no longer appears under your alias.' },
}

export const phrases: WebFeature['phrases'] = {
  connect_slack: ['Mirror', 'Mirrored', '{channel} with Slack'],
  disconnect_slack: ['End', 'Ended', 'the mirroring of {channel} with Slack'],
}

export function slackPages({ post, may }: AccountPages): void {
  post('/channels/:channel/slack', async (visit) => {
    const { form } = visit
    const named = { channel: visit.param('channel'), slackChannel: form.get('slackChannel') ?? '' }
    const input = { ...named, token: form.get('token') ?? '', signingSecret: form.get('signingSecret') ?? '' }
    // The activity log gets the input without secrets.
    const made = await visit.record('connect_slack', named, (account) => connectSlack(account, input))
    await notifyOfSlack(visit.account, made)
    return visit.done(notices.connected, 'channels', named.channel, 'settings')
  }, showSettings)
  post('/channels/:channel/slack/remove', async (visit) => {
    const channel = visit.param('channel')
    await visit.record('disconnect_slack', { channel }, (account) => disconnectSlack(account, channel))
    return visit.done(notices.ended, 'channels', channel, 'settings')
  }, showSettings)
  may('use').post('/channels/:channel/slack/link', async (visit) => {
    const { account, form, path } = visit
    const channel = visit.param('channel')
    if (!form.has('unlink')) {
      return await visit.showOnce(path('channels', channel, 'settings'), await askToLinkSlack(account, channel))
    }
    await unlinkSlack(account, channel)
    return visit.done(notices.unlinked, 'channels', channel, 'settings')
  }, showSettings)
}

/** The card on the settings page. Empty for people who lack its permissions. */
export async function slackCard(visit: Visit, channel: Channel) {
  const { account, actor, may, path } = visit
  const { read } = account.feature(slackTables)
  const slack = await read.ofChannel(channel.id)
  const action = (...parts: string[]) => path('channels', channel.id, 'slack', ...parts)
  if (!slack) return may('manage') ? <ConnectCard visit={visit} action={action()} /> : undefined
  if (!may('use')) return undefined
  const hasAlias = await findPersonAlias(account) !== undefined
  const isLinked = await read.isLinked(slack.id, actor.userId)
  const code = await visit.takeShown<string>()
  return (
    <Card title='Slack' lead='Posts here appear in Slack, and what people write there appears here.'>
      {code !== undefined && code !== 'shown' && (
        <Notice kind='good' title='Post this in the Slack channel within an hour'>
          <code>{code}</code>
        </Notice>
      )}
      <Facts
        items={[
          ['In Slack', channel.externalChannelName],
          ['Agent', <a href={path('agents', slack.alias)}>@{slack.alias}</a>],
          [
            'Request URL for its events',
            may('manage') && <code>{account.deps.config.baseUrl}{slackEventsPath(slack.id)}</code>,
          ],
          ['You there', isLinked ? 'write as yourself' : 'write through the agent, with your name'],
        ]}
      />
      <div class='row'>
        {hasAlias && <ButtonForm action={action('link')} kind='plain' isSmall>That is me in Slack</ButtonForm>}
        {isLinked && (
          <ButtonForm action={action('link')} fields={{ unlink: 'yes' }} kind='plain' isSmall>Unlink me</ButtonForm>
        )}
        {may('manage') && <ButtonForm action={action('remove')} kind='plain danger' isSmall>End mirroring</ButtonForm>}
      </div>
    </Card>
  )
}

function ConnectCard({ visit, action }: { visit: Visit; action: string }) {
  const fields = ['slackChannel', 'token', 'signingSecret']
  return (
    <Card
      title='Slack'
      lead='Mirror this channel with a Slack channel, in both directions. People there will read all new posts.'
    >
      <PageForm visit={visit} action={action} fields={fields}>
        <TextInput name='slackChannel' label='Channel ID in Slack' hint='For example C0123456789.' isRequired isMono />
        <PasswordInput
          name='token'
          label='Bot token'
          hint='It begins with xoxb-.'
          autocomplete='new-password'
          isRequired
        />
        <PasswordInput name='signingSecret' label='Signing secret' autocomplete='new-password' isRequired />
        <SubmitRow kind='plain'>Mirror with Slack</SubmitRow>
      </PageForm>
    </Card>
  )
}
