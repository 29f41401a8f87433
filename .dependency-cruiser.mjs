/** The import rules. `npm run check` applies them to every file; `scripts/import-rules.test.ts` plants a breach of each rule. */

/** Files that exist for tests alone. */
const TEST_FILE = [/\.(test|contract|fixture)\.ts$/, /^(apps|packages)\/[^/]+\/test\//, /^e2e\//]
const TEST = TEST_FILE.map(({ source }) => source)

/** The packages that each package may import. A package that is not listed may import none. */
const PACKAGE_IMPORTS = {
  client: [],
  commands: ['http'],
  answers: ['domain', 'guides'],
  domain: [],
  metadata: ['domain'],
  guides: ['domain'],
  http: ['domain', 'tracing'],
  mail: ['domain', 'http', 'postgres', 'sealing'],
  pages: ['domain'],
  postgres: ['tracing'],
  revocation: [],
  sealing: [],
  tracing: [],
}

/** The folders that each folder of an app may import. A folder that is not listed may import none. */
const FOLDER_IMPORTS = {
  // Revoking an agent also revokes its e-mail verifications and tokens, and notifies the APIs. Blocks of domains are audited.
  agents: 'audit|verifications|client-documents|clients|revocation|tokens',
  // A verification that is completed is answered with an assertion.
  verifications: 'assertions|clients|revocation|tokens',
  // Authenticates agents and apps, also by their documents.
  clients: 'agents|app-clients|client-documents',
  // Fetches the documents of apps as those of agents, and refuses the domains that agents may not use either.
  'app-clients': 'agents|client-documents',
  // A connection is an agent whose verification is the grant.
  connections: 'verifications',
  // Gives a key without a kid its thumbprint.
  'client-documents': 'clients',
  tokens: 'audit|revocation',
  // A report names the store of tokens that its instance uses.
  keys: 'audit|tokens',
  // Compares what commands use with what instances report, and asks instances for tokens.
  instances: 'keys|tokens',
  // Repeats revocations of agents and their secrets, and blocks of domains, for the audit.
  replay: 'agents|audit|keys|tokens',
  // Gives oidc-provider our clients, apps, connections, keys, resource servers, tokens and assertions.
  oauth: 'agents|app-clients|assertions|clients|connections|keys|resource-servers|tokens',
  // A person who proves their address completes the verification of a connection, and goes back to the app.
  'sign-in': 'app-clients|verifications|connections|oauth',
  // Signed with the keys of the ring.
  assertions: 'keys',
  // Makes answers from the guides of the catalog.
  answers: 'guides',
  // Shows the guides of the catalog, and answers; its forms join the waitlist and send messages.
  pages: 'answers|contact|guides|waitlist',
  // Offers as tools what the routes of these do, and checks scopes as they do.
  mcp: 'answers|auth|contact|guides|waitlist',
  // Answers to the address that the token stands for.
  contact: 'auth',
  // The parts of wire.ts, and the command line, which reaches into each folder.
  wire: '[^/]+',
  commands: '[^/]+',
}

/** A package by its name: found among those that are installed, or not found. @param {string} name */
const named = (name) => `(^|node_modules/)${name}(/|$)`

/** @type {import('dependency-cruiser').IForbiddenRuleType[]} */
const RULES = [
  {
    name: 'no-cycle',
    comment: 'two files that need each other, if only for types, are one thing in two files',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-unknown-module',
    comment: 'every import resolves to a file',
    from: {},
    to: { couldNotResolve: true },
  },
  ...Object.entries(PACKAGE_IMPORTS).map(([name, allowed]) => ({
    name: 'package-directions',
    comment: `of our packages, ${name} may import ${allowed.join(', ') || 'none'} (PACKAGE_IMPORTS)`,
    from: { path: `^packages/${name}/` },
    to: { path: '^packages/', pathNot: `^packages/(${[name, ...allowed].join('|')})/` },
  })),
  {
    name: 'domain-knows-no-technology',
    comment:
      'the domain knows no technology but zod, the arithmetic of public keys, and node:url for the names of hosts',
    from: { path: '^packages/domain/', pathNot: TEST },
    to: { pathNot: ['^packages/domain/', '^url$', named('zod'), named('@noble/curves')] },
  },
  {
    name: 'packages-serve-apps',
    comment: 'packages serve the apps, not the reverse',
    from: { path: '^(packages|scripts)/' },
    to: { path: '^(apps|e2e)/' },
  },
  {
    name: 'apps-meet-over-http',
    comment: 'the two apps meet over HTTP only',
    from: { path: '^apps/(auth|resource)/' },
    to: { path: '^(apps|e2e)/', pathNot: '^apps/$1/' },
  },
  {
    name: 'packages-by-name',
    comment: 'another package is imported by its name, through what it exports',
    from: { path: '^((?:apps|packages|infra)/[^/]+|bench|e2e|scripts)/' },
    to: {
      path: '^(apps|packages|infra|bench|e2e)/',
      pathNot: '^$1/',
      dependencyTypes: ['local'],
    },
  },
  {
    name: 'folders-of-an-app',
    comment: 'folders of an app do not know each other; they meet in wire.ts and app.ts (FOLDER_IMPORTS)',
    from: {
      path: '^apps/([^/]+)/src/([^/]+)/',
      pathNot: [...TEST, `^apps/[^/]+/src/(${Object.keys(FOLDER_IMPORTS).join('|')})/`],
    },
    to: { path: '^apps/$1/src/[^/]+/', pathNot: '^apps/$1/src/$2/' },
  },
  ...Object.entries(FOLDER_IMPORTS).map(([name, allowed]) => ({
    name: 'folders-of-an-app',
    comment: `of the folders of its app, ${name} may import ${allowed} (FOLDER_IMPORTS)`,
    from: { path: `^apps/([^/]+)/src/${name}/`, pathNot: TEST },
    to: { path: '^apps/$1/src/[^/]+/', pathNot: `^apps/$1/src/(${name}|${allowed})/` },
  })),
  {
    name: 'one-folder-knows-oidc-provider',
    comment: 'one folder knows the library: apps/auth/src/oauth',
    from: { pathNot: '^(apps/auth/src/oauth|bench/baselines)/' },
    to: { path: named('oidc-provider') },
  },
  {
    name: 'oidc-provider-by-its-name',
    comment:
      'its internals may change in any release: its exports, and the modules that it offers for custom grants, are enough',
    from: {},
    to: {
      path: '(^|/)oidc-provider/',
      pathNot: 'node_modules/oidc-provider/lib/(index|helpers/grants)\\.js$',
    },
  },
  {
    name: 'ioredis-is-of-auth',
    comment: 'ioredis is the client of apps/auth',
    from: { pathNot: ['^(apps/auth|bench|e2e|scripts/vitest)/', '^packages/http/.*\\.test\\.ts$'] },
    to: { path: named('ioredis') },
  },
  {
    name: 'redis-is-of-resource',
    comment: 'redis is the client of apps/resource',
    from: { pathNot: ['^(apps/resource|e2e)/', '^packages/http/.*\\.test\\.ts$'] },
    to: { path: named('redis') },
  },
  {
    name: 'token-store-is-chosen-in-stores',
    comment:
      'which of the two token stores there is, is decided in stores.ts; everybody else knows their interface',
    from: { path: '^apps/', pathNot: [...TEST, '^apps/auth/src/stores\\.ts$'] },
    to: { path: '/(postgres|redis)-token-store\\.ts$' },
  },
  {
    name: 'settings-are-handed-on',
    comment: 'settings are read once and handed on as plain values',
    from: {
      path: '^apps/([^/]+)/',
      pathNot: [
        ...TEST,
        '/src/(main|cli|app|serve|stores|upkeep|wire|wire/wire-[a-z-]+)\\.ts$',
        '-command\\.ts$',
      ],
    },
    to: { path: '^apps/$1/src/config\\.ts$' },
  },
  {
    name: 'settings-are-given',
    comment: 'wire.ts and app.ts are given the settings; main.ts and the command line read them',
    from: { path: '^apps/[^/]+/src/(app|serve|wire|wire/wire-[a-z-]+)\\.ts$' },
    to: { path: '^apps/[^/]+/src/config\\.ts$', dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'no-programs-started',
    comment: 'nothing that answers requests starts a program: only the database server of `npm start` is one',
    from: {
      path: '^(apps|packages)/',
      pathNot: [...TEST, '^packages/postgres/src/embedded/'],
    },
    to: { path: '^(child_process|worker_threads|cluster)$' },
  },
  {
    name: 'no-index-in-apps',
    comment: 'a file of an app is imported by its name',
    from: {},
    to: { path: '^apps/.+/index\\.ts$' },
  },
]

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: RULES.map((rule) => ({ ...rule, severity: 'error' })),
  options: {
    doNotFollow: { path: 'node_modules' },
    parser: 'tsc',
    tsPreCompilationDeps: true,
    cache: { folder: 'node_modules/.cache/dependency-cruiser', strategy: 'content' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
}
