/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The list of approval rules, and each rule's page. See docs/protocol/guardrails.md, "Approval rules". */
import {
  createApprovalRule,
  deleteApprovalRule,
  listApprovalRules,
  maxRules,
  showApprovalRule,
  type ShownRule,
  updateApprovalRule,
} from '../../grid/approvals/rules.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState } from '../../html/components.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { DeleteCard } from '../forms.tsx'
import { ManagersOnlyNote, NewButton } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { loadChoices, RuleForm, ruleOf } from './rule-form.tsx'
import { conditionInWords, endInWords, timeInWords } from './rule-words.tsx'

const here = 'approval-rules'

export function approvalRulePages({ get, post }: Pages<Visit>): void {
  get('/approval-rules', list)
  get('/approval-rules/new', showNew)
  post('/approval-rules/new', async (visit) => {
    const input = ruleOf(visit.form)
    await visit.record('create_approval_rule', input, (account) => createApprovalRule(account, input))
    return visit.done('rule-created', here)
  }, showNew)
  get('/approval-rules/:rule', show)
  post('/approval-rules/:rule', async (visit) => {
    const id = visit.param('rule')
    const input = ruleOf(visit.form)
    await visit.record('update_approval_rule', { id, ...input }, (account) => updateApprovalRule(account, id, input))
    return visit.done('saved', here, id)
  }, show)
  post('/approval-rules/:rule/delete', async (visit) => {
    const id = visit.param('rule')
    // Read the name before deleting the rule, so that it can be logged.
    const name = (await visit.account.read.approvalRules.byId(id))?.name
    await visit.record('delete_approval_rule', { id, name }, (account) => deleteApprovalRule(account, id))
    return visit.done('rule-deleted', here)
  }, show)
}

async function list(visit: Visit) {
  const { path, may } = visit
  const rules = await listApprovalRules(visit.account)
  const newRule = may('manage') && rules.length < maxRules && <NewButton href={path(here, 'new')} noun='rule' />
  return await appPage(
    visit.frame('guardrails'),
    {
      title: 'Approval rules',
      lead: 'Rules hold messages until a person decides. For each message the first matching rule applies.',
      back: { title: 'Guardrails', href: path('guardrails') },
      actions: (
        <>
          <ButtonLink href={path('held')}>Held messages</ButtonLink>
          {rules.length > 0 && newRule}
        </>
      ),
    },
    <Card isFlush={rules.length > 0}>
      {rules.length === 0
        ? (
          <EmptyState icon='people' title='No message waits for a person' action={newRule}>
            A rule holds messages, such as those to other accounts or with files, until a person decides.
            {!may('manage') && ' Owners and admins of the account can make one.'}
          </EmptyState>
        )
        : <RuleTable visit={visit} rules={rules} />}
    </Card>,
  )
}

function RuleTable({ visit, rules }: { visit: Visit; rules: ShownRule[] }) {
  return (
    <Table
      id='rules'
      caption='Approval rules'
      rows={rules}
      columns={[
        {
          title: 'Rule',
          cell: (rule) => (
            <div>
              <a href={visit.path(here, rule.id)} dir='auto'>{rule.name}</a>
              <div class='soft small'>
                Messages from <Name text={endInWords(rule.from)} /> to{' '}
                <Name text={rule.to === 'any' ? 'anyone' : endInWords(rule.to)} />
                {conditionInWords(rule)}
              </div>
            </div>
          ),
        },
        {
          title: 'Can be decided by',
          cell: ({ deciders }) => deciders.length === 0 ? 'the owners' : deciders.map(({ name }) => name).join(', '),
        },
        { title: 'Expires after', cell: ({ expiresInHours }) => timeInWords(expiresInHours) },
        {
          title: 'State',
          cell: ({ enabled }) => <Badge kind={enabled ? 'info' : 'plain'} hasDot>{enabled ? 'on' : 'off'}</Badge>,
        },
      ]}
    />
  )
}

async function showNew(visit: Visit) {
  return await appPage(
    visit.frame('guardrails'),
    {
      title: 'New approval rule',
      lead: 'Messages that it holds wait until a person approves them.',
      back: { title: 'Approval rules', href: visit.path(here) },
    },
    <Card>
      {visit.may('manage')
        ? <RuleForm visit={visit} action={visit.path(here, 'new')} choices={await loadChoices(visit.account)} />
        : <ManagersOnlyNote visit={visit} what='make approval rules' />}
    </Card>,
  )
}

async function show(visit: Visit) {
  const rule = await showApprovalRule(visit.account, visit.param('rule'))
  const action = visit.path(here, rule.id)
  const mayManage = visit.may('manage')
  return await appPage(
    visit.frame('guardrails'),
    { title: rule.name, back: { title: 'Approval rules', href: visit.path(here) } },
    <>
      <Card isFlush>
        <RuleTable visit={visit} rules={[rule]} />
      </Card>
      {mayManage
        ? (
          <>
            <Card
              title='Change this rule'
              lead='A change asks for a password or passkey unless you gave one in the last ten minutes.'
            >
              <RuleForm visit={visit} action={action} rule={rule} choices={await loadChoices(visit.account)} />
            </Card>
            <DeleteCard
              noun='rule'
              lead='Messages that it holds stay held until a person decides or they expire.'
              action={`${action}/delete`}
              question={
                <>
                  Delete <strong dir='auto'>{rule.name}</strong>? Messages like these are then delivered at once.
                </>
              }
            />
          </>
        )
        : (
          <Card>
            <ManagersOnlyNote visit={visit} what='change approval rules' />
          </Card>
        )}
    </>,
  )
}
