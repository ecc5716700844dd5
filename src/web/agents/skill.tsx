/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { deleteSkill, updateSkill } from '../../grid/agents/skills.ts'
import { Card, EmptyState, Notice } from '../../html/bits.tsx'
import { Form, SubmitButton, TextArea, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { DeleteCard } from '../delete-card.tsx'
import { type FormFault, formFault } from '../faults.ts'
import { counted, OnlyManagers, PageLinks, pageSize, placeOf } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { AgentName } from '../accounts/who.tsx'

/** The page of one skill, and what can be done there. */
export function oneSkillPages({ get, post }: Pages<Visit>): void {
  get('/skills/:skill', show)
  post('/skills/:skill', async (visit) => {
    const id = visit.param('skill')
    const input = skillOf(visit.form)
    await visit.record('update_skill', { id, ...input }, (account) => updateSkill(account, id, input))
    return { goTo: `${visit.path('skills', id)}?done=saved` }
  }, show)
  post('/skills/:skill/delete', async (visit) => {
    const id = visit.param('skill')
    // With its name: nobody can look it up afterwards.
    const name = (await visit.account.read.skills.byId(id))?.name
    await visit.record('delete_skill', { id, name }, (account) => deleteSkill(account, id))
    return { goTo: `${visit.path('skills')}?done=skill-deleted` }
  })
}

/** What was filled in. */
export function skillOf(form: URLSearchParams): { name: string; description: string } {
  return { name: form.get('name') ?? '', description: form.get('description') ?? '' }
}

/** Name and description of a skill. */
export function SkillFields(
  { skill, fault, isFocused }: {
    skill: { name: string; description: string }
    fault: FormFault<'name' | 'description'>
    isFocused?: boolean
  },
) {
  return (
    <>
      <TextInput
        name='name'
        label='Name'
        hint='1 to 64 characters, as short as it can be understood.'
        value={skill.name}
        error={fault.name}
        maxLength={64}
        isRequired
        isFocused={isFocused}
      />
      <TextArea
        name='description'
        label='Description'
        hint='When to ask an agent that has it. Agents read it.'
        value={skill.description}
        error={fault.description}
        maxLength={500}
        rows={3}
        isOptional
      />
    </>
  )
}

async function show(visit: Visit) {
  const { account, query, form, fault: refused } = visit
  const skill = await account.read.skills.byId(visit.param('skill'))
  if (!skill) throw new GridError('skill_not_found', 'There is no such skill, or it was deleted.')
  const at = { ...placeOf(query), search: '', path: visit.path('skills', skill.id) }
  const [agents, total] = await Promise.all([
    account.read.skills.agentsWith(skill.id, pageSize, at.offset),
    account.read.skills.agentsWithTotal(skill.id),
  ])
  const fault = formFault(visit, at.path, ['name', 'description'])
  const mayManage = visit.may('manage')
  return await appPage(
    visit.frame('skills'),
    {
      title: skill.name,
      lead: skill.description || undefined,
      back: { title: 'Skills', href: visit.path('skills') },
    },
    <>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <div class='grid halves'>
        <div class='stack'>
          {total === 0
            ? (
              <Card title='Agents'>
                <EmptyState icon='agents' title='No agent has this skill'>
                  {mayManage
                    ? 'Give it to an agent on the page of the agent.'
                    : 'Owners and admins of the account give it to agents.'}
                </EmptyState>
              </Card>
            )
            : (
              <Card title='Agents' lead={`${counted(total, 'agent')} with this skill`} isFlush>
                <Table
                  id='agents'
                  caption={`Agents with the skill ${skill.name}`}
                  rows={agents}
                  columns={[{
                    title: 'Agent',
                    cell: ({ alias, description }) => (
                      <AgentName alias={alias} href={visit.path('agents', alias)}>{description}</AgentName>
                    ),
                  }]}
                />
                <PageLinks label='Pages of agents' at={at} total={total} />
              </Card>
            )}
        </div>
        <div class='stack'>
          <Card title='About it'>
            {mayManage
              ? (
                <Form action={at.path} csrf={visit.csrf}>
                  <SkillFields skill={refused ? skillOf(form) : skill} fault={fault} />
                  <div class='row'>
                    <SubmitButton>Save</SubmitButton>
                  </div>
                </Form>
              )
              : <OnlyManagers visit={visit} what='change skills' />}
          </Card>
          {mayManage && (
            <DeleteCard
              noun='skill'
              lead='Every agent that has it loses it.'
              action={visit.path('skills', skill.id, 'delete')}
              csrf={visit.csrf}
              question={
                <>
                  Delete <strong>{skill.name}</strong>?{' '}
                  {total === 0 ? 'No agent has it.' : `${counted(total, 'agent')} will lose it.`} This cannot be undone.
                </>
              }
            />
          )}
        </div>
      </div>
    </>,
  )
}
