/** Shortened payloads from the documentation of GitHub and of Alertmanager. */
const repository = { id: 1296269, name: 'grid', full_name: 'acme/grid', html_url: 'https://github.com/acme/grid' }
const sender = { login: 'octocat', id: 1, type: 'User' }
const url = 'https://github.com/acme/grid'

export const push = {
  ref: 'refs/heads/main',
  before: '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
  after: '0000000000000000000000000000000000000000',
  repository,
  pusher: { name: 'octocat', email: 'octocat@github.com' },
  sender,
  created: false,
  deleted: false,
  forced: false,
  compare: `${url}/compare/6113728f27ae...000000000000`,
  commits: [{ id: '0'.repeat(40), message: 'Fix the build', added: [], removed: [], modified: ['a.ts'] }],
  head_commit: { id: '0'.repeat(40), message: 'Fix the build', author: { name: 'Mona', email: 'mona@github.com' } },
}
export const pullRequest = {
  action: 'opened',
  number: 2,
  pull_request: { id: 279147437, number: 2, title: 'Update the README', html_url: `${url}/pull/2`, state: 'open' },
  repository,
  sender,
}
export const issues = {
  action: 'closed',
  issue: { number: 1, title: 'Spelling error', html_url: `${url}/issues/1`, body: 'It looks odd.', labels: [] },
  repository,
  sender,
}
export const workflowRun = {
  action: 'completed',
  workflow_run: {
    name: 'CI',
    head_branch: 'main',
    conclusion: 'failure',
    html_url: `${url}/actions/runs/3`,
    run_number: 9,
  },
  workflow: { name: 'CI', path: '.github/workflows/ci.yml' },
  repository,
  sender,
}
export const alert = {
  version: '4',
  groupKey: '{}:{alertname="InstanceDown"}',
  truncatedAlerts: 0,
  status: 'firing',
  receiver: 'grid',
  groupLabels: { alertname: 'InstanceDown' },
  commonLabels: { alertname: 'InstanceDown', instance: 'db:9100', severity: 'page' },
  commonAnnotations: { summary: 'db is down', description: 'It was not reached for 5 minutes.' },
  externalURL: 'http://alertmanager:9093',
  alerts: [{
    status: 'firing',
    labels: { alertname: 'InstanceDown', instance: 'db:9100', severity: 'page' },
    annotations: { summary: 'db is down' },
    startsAt: '2026-11-21T09:00:00Z',
    endsAt: '0001-01-01T00:00:00Z',
    generatorURL: 'http://prometheus:9090/graph?g0.expr=up',
    fingerprint: 'b3b7',
  }],
}
