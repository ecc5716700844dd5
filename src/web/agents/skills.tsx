/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { createSkill, deleteSkill, updateSkill } from '../../grid/agents/skills.ts'
import { Card, EmptyState } from '../../html/components.tsx'
import { TextArea, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { DeleteCard, PageForm } from '../forms.tsx'
import { listPage, listPosition, ManagersOnlyNote, PageLinks, pageSize, pluralize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'

/** Registers the list of skills, the form for a new one, and each skill's page. */
export function skillPages({ get, post }: Pages<Visit>): void {
  get('/skills', list)
  get('/skills/new', showNew)
  post('/skills/new', async (visit) => {
    const input = skillOf(visit.form)
    const { id } = await visit.record('create_skill', input, (account) => createSkill(account, input))
    return visit.done('skill-created', 'skills', id)
  }, showNew)
  get('/skills/:skill', show)
  post('/skills/:skill', async (visit) => {
    const id = visit.param('skill')
    const input = skillOf(visit.form)
    await visit.record('update_skill', { id, ...input }, (account) => updateSkill(account, id, input))
    return visit.done('saved', 'skills', id)
  }, show)
  post('/skills/:skill/delete', async (visit) => {
    const id = visit.param('skill')
    // Read the name before deleting the skill, so that it can be logged.
    const name = (await visit.account.read.skills.byId(id))?.name
    await visit.record('delete_skill', { id, name }, (account) => deleteSkill(account, id))
    return visit.done('skill-deleted', 'skills')
  })
}

function skillOf(form: URLSearchParams): { name: string; description: string } {
  return { name: form.get('name') ?? '', description: form.get('description') ?? '' }
}

async function list(visit: Visit) {
  const { account, query } = visit
  const at = { ...listPosition(query), path: visit.path('skills') }
  const [skills, total] = await Promise.all([
    account.read.skills.search(at.search, pageSize, at.offset),
    account.read.skills.searchTotal(at.search),
  ])
  return listPage(visit, {
    section: 'skills',
    noun: 'skill',
    lead: 'What agents can do. Other agents can search by skill.',
    empty: (
      <>
        Agents of the account share skills by name. An agent can also set its own with the tool <code>set_skills</code>.
      </>
    ),
    at,
    total,
    isFound: skills.length > 0,
    searched: 'name or description',
    table: (
      <Table
        id='skills'
        caption='Skills'
        rows={skills}
        columns={[
          {
            title: 'Skill',
            cell: ({ id, name, description }) => (
              <div>
                <a href={visit.path('skills', id)} dir='auto'>{name}</a>
                {description && <div class='soft small cut' dir='auto'>{description}</div>}
              </div>
            ),
          },
          { title: 'Agents', align: 'number', cell: ({ agentCount }) => agentCount.toLocaleString('en') },
        ]}
      />
    ),
  })
}

function showNew(visit: Visit) {
  return appPage(
    visit.frame('skills'),
    {
      title: 'New skill',
      lead: 'A skill can be assigned to any agent of the account.',
      back: { title: 'Skills', href: visit.path('skills') },
    },
    <Card>
      {visit.may('manage')
        ? (
          <PageForm visit={visit} acts action={visit.path('skills', 'new')} fields={['name', 'description']}>
            <SkillFields isFocused />
            <SubmitRow cancel={visit.path('skills')}>Create skill</SubmitRow>
          </PageForm>
        )
        : <ManagersOnlyNote visit={visit} what='create skills' />}
    </Card>,
  )
}

function SkillFields({ skill, isFocused }: { skill?: { name: string; description: string }; isFocused?: boolean }) {
  return (
    <>
      <TextInput
        name='name'
        label='Name'
        hint='1 to 64 characters. Keep it short.'
        value={skill?.name}
        maxLength={64}
        isRequired
        isFocused={isFocused}
      />
      <TextArea
        name='description'
        label='Description'
        hint='When to ask an agent with this skill. Agents read it.'
        value={skill?.description}
        maxLength={500}
        rows={3}
        isOptional
      />
    </>
  )
}

async function show(visit: Visit) {
  const { account, query } = visit
  const skill = await account.read.skills.byId(visit.param('skill'))
  if (!skill) throw new GridError('skill_not_found', 'This skill does not exist or was deleted.')
  const at = { ...listPosition(query), search: '', path: visit.path('skills', skill.id) }
  const [agents, total] = await Promise.all([
    account.read.skills.agentsWith(skill.id, pageSize, at.offset),
    account.read.skills.agentsWithTotal(skill.id),
  ])
  const mayManage = visit.may('manage')
  return await appPage(
    visit.frame('skills'),
    {
      title: skill.name,
      lead: skill.description || undefined,
      back: { title: 'Skills', href: visit.path('skills') },
    },
    <div class='grid halves'>
      <div class='stack'>
        {total === 0
          ? (
            <Card title='Agents'>
              <EmptyState icon='agents' title='No agent has this skill'>
                {mayManage
                  ? 'Assign it to an agent on the agent’s page.'
                  : 'Owners and admins of the account can assign it to agents.'}
              </EmptyState>
            </Card>
          )
          : (
            <Card title='Agents' lead={`${pluralize(total, 'agent')} with this skill`} isFlush>
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
        <Card title='Details'>
          {mayManage
            ? (
              <PageForm visit={visit} action={at.path} fields={['name', 'description']}>
                <SkillFields skill={skill} />
                <SubmitRow>Save</SubmitRow>
              </PageForm>
            )
            : <ManagersOnlyNote visit={visit} what='change skills' />}
        </Card>
        {mayManage && (
          <DeleteCard
            noun='skill'
            lead='It is removed from every agent that has it.'
            action={visit.path('skills', skill.id, 'delete')}
            question={
              <>
                Delete <strong>{skill.name}</strong>?{' '}
                {total === 0 ? 'No agent has it.' : `${pluralize(total, 'agent')} will lose it.`} This cannot be undone.
              </>
            }
          />
        )}
      </div>
    </div>,
  )
}
