/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Shows a remote agent's card and waiting messages. See docs/protocol/remote-agents.md, "How messages are sent". */
import type { RemoteState } from '../../grid/remote-agents/manage.ts'
import { Name } from '../../html/bidi.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { Badge, Card, Facts, Notice, Time } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import type { Agent } from '../../store/account/agents.ts'
import { pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'

export function RemoteAgent(
  { visit, agent, state, now }: { visit: Visit; agent: Agent; state: RemoteState; now: number },
) {
  const { url, card, unread, dueAt, attempts, failingSince, error, triedAt, pausedAt, answerMs, transport } = state
  const path = (action: string) => visit.path('agents', agent.alias, action)
  const skills = card?.skills.map(({ name }) => name) ?? []
  return (
    <Card title='Remote agent' lead='Messages are sent to its server, in order for each sender.'>
      {pausedAt !== null && (
        <Notice kind='warning'>
          Paused since <Time at={pausedAt} now={now} />. Its messages wait.
        </Notice>
      )}
      {failingSince !== null && attempts === 0 && <Notice kind='warning'>{error}</Notice>}
      {failingSince !== null && attempts !== 0 && (
        <Notice kind='bad' title={error ?? undefined}>
          It has been failing for {durationInWords(now - failingSince)}, {pluralize(attempts ?? 0, 'attempt')}.
        </Notice>
      )}
      <Facts
        items={[
          ['Address', <Name text={url} />],
          ['Reached through', transport],
          ['Card', transport === null && (card ? <Name text={card.name} /> : 'not read yet')],
          ['Speaks', card && `A2A ${card.endpoint.version}, ${card.endpoint.binding}`],
          ['Signature', card?.isForged && 'does not verify: something changed the card on its way'],
          ['Not used', card && card.otherOrigins.length > 0 && `endpoints at ${card.otherOrigins.join(', ')}`],
          ['Time limit', durationInWords(answerMs)],
          ['Waiting', pluralize(unread, 'message')],
          ['Last attempt', failingSince !== null && <Time at={triedAt} now={now} />],
          [
            'Next attempt',
            pausedAt === null && failingSince !== null && dueAt !== null && <Time at={dueAt} now={now} />,
          ],
          ['Skills on its card', skills.length > 0 && skills.map((name) => <Badge title={name}>{name}</Badge>)],
        ]}
      />
      {visit.may('manage') && (
        <div class='row'>
          {pausedAt === null && (unread > 0 || failingSince !== null) && (
            <ButtonForm action={path('try-now')} kind='plain' isSmall>Try now</ButtonForm>
          )}
          <ButtonForm
            action={path('pause')}
            fields={{ paused: pausedAt === null ? 'yes' : 'no' }}
            kind={pausedAt === null ? 'plain' : undefined}
            isSmall
          >
            {pausedAt === null ? 'Pause' : 'Resume'}
          </ButtonForm>
          {transport === null && <ButtonForm action={path('read-card')} kind='plain' isSmall>Read the card</ButtonForm>}
          {skills.length > 0 && (
            <ButtonForm action={path('skills')} fields={{ skills: skills.join('\n') }} kind='plain' isSmall>
              Use its skills
            </ButtonForm>
          )}
        </div>
      )}
    </Card>
  )
}
