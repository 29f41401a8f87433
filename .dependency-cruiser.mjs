/** The import rules. `npm run check` applies them to every file; `scripts/import-rules.test.ts` plants a violation of each rule. */

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
  // Issues and introspects tokens, and gives oidc-provider our apps, connections and tokens.
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
    comment: 'no file imports itself through other files, not even for types',
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
    name: 'package-imports-are-listed',
    comment: `of our packages, ${name} may import ${allowed.join(', ') || 'none'} (PACKAGE_IMPORTS)`,
    from: { path: `^packages/${name}/` },
    to: { path: '^packages/', pathNot: `^packages/(${[name, ...allowed].join('|')})/` },
  })),
  {
    name: 'domain-has-few-dependencies',
    comment:
      'the domain imports only zod, @noble/curves (to validate public keys) and node:url (to parse host names)',
    from: { path: '^packages/domain/', pathNot: TEST },
    to: { pathNot: ['^packages/domain/', '^url$', named('zod'), named('@noble/curves')] },
  },
  {
    name: 'packages-do-not-import-apps',
    comment: 'apps import packages, not the reverse',
    from: { path: '^(packages|scripts)/' },
    to: { path: '^(apps|e2e)/' },
  },
  {
    name: 'apps-do-not-import-each-other',
    comment: 'the two apps communicate over HTTP only',
    from: { path: '^apps/(auth|resource)/' },
    to: { path: '^(apps|e2e)/', pathNot: '^apps/$1/' },
  },
  {
    name: 'packages-are-imported-by-name',
    comment: 'another package is imported by its name, through its exports',
    from: { path: '^((?:apps|packages|infra)/[^/]+|bench|e2e|scripts)/' },
    to: {
      path: '^(apps|packages|infra|bench|e2e)/',
      pathNot: '^$1/',
      dependencyTypes: ['local'],
    },
  },
  {
    name: 'folder-imports-are-listed',
    comment: 'folders of an app do not import each other; wire.ts and app.ts connect them (FOLDER_IMPORTS)',
    from: {
      path: '^apps/([^/]+)/src/([^/]+)/',
      pathNot: [...TEST, `^apps/[^/]+/src/(${Object.keys(FOLDER_IMPORTS).join('|')})/`],
    },
    to: { path: '^apps/$1/src/[^/]+/', pathNot: '^apps/$1/src/$2/' },
  },
  ...Object.entries(FOLDER_IMPORTS).map(([name, allowed]) => ({
    name: 'folder-imports-are-listed',
    comment: `of the folders of its app, ${name} may import ${allowed} (FOLDER_IMPORTS)`,
    from: { path: `^apps/([^/]+)/src/${name}/`, pathNot: TEST },
    to: { path: '^apps/$1/src/[^/]+/', pathNot: `^apps/$1/src/(${name}|${allowed})/` },
  })),
  {
    name: 'only-oauth-folder-uses-oidc-provider',
    comment: 'only apps/auth/src/oauth imports oidc-provider',
    from: { pathNot: '^(apps/auth/src/oauth|bench/baselines)/' },
    to: { path: named('oidc-provider') },
  },
  {
    name: 'no-oidc-provider-internals',
    comment:
      'its internals may change in any release: import only its exports, and its modules for custom grants',
    from: {},
    to: {
      path: '(^|/)oidc-provider/',
      pathNot: 'node_modules/oidc-provider/lib/(index|helpers/grants)\\.js$',
    },
  },
  {
    name: 'only-auth-uses-ioredis',
    comment: 'ioredis is the Redis client of apps/auth',
    from: { pathNot: ['^(apps/auth|bench|e2e|scripts/vitest)/', '^packages/http/.*\\.test\\.ts$'] },
    to: { path: named('ioredis') },
  },
  {
    name: 'only-resource-uses-redis',
    comment: 'redis is the Redis client of apps/resource',
    from: { pathNot: ['^(apps/resource|e2e)/', '^packages/http/.*\\.test\\.ts$'] },
    to: { path: named('redis') },
  },
  {
    name: 'only-stores-chooses-token-store',
    comment: 'stores.ts chooses one of the two token stores; other files import only their interface',
    from: { path: '^apps/', pathNot: [...TEST, '^apps/auth/src/stores\\.ts$'] },
    to: { path: '/(postgres|redis)-token-store\\.ts$' },
  },
  {
    name: 'config-is-passed-as-values',
    comment: 'settings are loaded once and passed on as plain values',
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
    name: 'wiring-does-not-load-config',
    comment: 'wire.ts and app.ts receive the settings; main.ts and the command line load them',
    from: { path: '^apps/[^/]+/src/(app|serve|wire|wire/wire-[a-z-]+)\\.ts$' },
    to: { path: '^apps/[^/]+/src/config\\.ts$', dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'apps-start-no-programs',
    comment: 'apps and packages start no programs and threads; only `npm start` starts a database server',
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
