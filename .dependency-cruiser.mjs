/** The import rules. `npm run check` applies them to every file; `scripts/import-rules.test.ts` plants a violation of each rule. */

/** Patterns for files that exist for tests alone, as strings, because dependency-cruiser takes no `RegExp` objects. */
const TEST_FILES = [/\.(test|contract|fixture)\.ts$/, /^(apps|packages)\/[^/]+\/test\//, /^e2e\//].map(
  ({ source }) => source,
)

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

/** The folders that each folder of an app may import, separated by `|`, and why. A folder that is not listed may import none. */
const FOLDER_IMPORTS = {
  // To revoke an agent is also to revoke its e-mail verifications and tokens, and to notify the APIs. Blocks of domains are audited.
  agents: 'audit|verifications|client-documents|clients|revocation|tokens',
  // The response to a completed verification has an assertion.
  verifications: 'assertions|clients|revocation|tokens',
  // Agents and apps are authenticated here, some of them by the keys in their documents.
  clients: 'agents|app-clients|client-documents',
  // Documents of apps are fetched like those of agents, and the domains that are blocked for agents are blocked for apps too.
  'app-clients': 'agents|client-documents',
  // A connection is an agent whose e-mail verification is the person's grant.
  connections: 'verifications',
  // A key without a kid gets its thumbprint as its kid.
  'client-documents': 'clients',
  tokens: 'audit|revocation',
  // The report of an instance names the store of tokens that the instance uses.
  keys: 'audit|tokens',
  // Commands compare their settings and stores with those that instances report, and instances look up the canary, a token that
  // nobody has.
  instances: 'keys|tokens',
  // Revocations of agents and their secrets, and blocks of domains, are repeated and audited. Keys are compared by thumbprint.
  replay: 'agents|audit|clients|keys|tokens',
  // Tokens are issued and introspected here, and oidc-provider gets our apps, connections and tokens.
  oauth: 'agents|app-clients|assertions|clients|connections|keys|resource-servers|tokens',
  // A person who proves their address completes the verification of a connection, and goes back to the app.
  'sign-in': 'app-clients|verifications|connections|oauth',
  // Assertions are signed with the keys of the ring. An agent gets one only if its credential was not removed meanwhile.
  assertions: 'clients|keys',
  // Answers are made from the guides of the catalog.
  answers: 'guides',
  // Pages show guides and answers, and their forms join the waitlist and send messages.
  pages: 'answers|contact|guides|waitlist',
  // Each tool does what a route of these folders does, and scopes are checked as for the routes.
  mcp: 'answers|auth|contact|guides|waitlist',
  // Staff reply to the address of the person for whom the token was issued.
  contact: 'auth',
  // The parts of wire.ts, and the commands, may use every folder.
  wire: '[^/]+',
  commands: '[^/]+',
}

/** Returns a pattern that matches the imports of a package, whether or not it is installed. @param {string} name */
const matchPackage = (name) => `(^|node_modules/)${name}(/|$)`

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
    from: { path: '^packages/domain/', pathNot: TEST_FILES },
    to: { pathNot: ['^packages/domain/', '^url$', matchPackage('zod'), matchPackage('@noble/curves')] },
  },
  {
    name: 'packages-do-not-import-apps',
    comment: 'neither packages nor scripts import apps or end-to-end tests',
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
      pathNot: [...TEST_FILES, `^apps/[^/]+/src/(${Object.keys(FOLDER_IMPORTS).join('|')})/`],
    },
    to: { path: '^apps/$1/src/[^/]+/', pathNot: '^apps/$1/src/$2/' },
  },
  ...Object.entries(FOLDER_IMPORTS).map(([name, allowed]) => ({
    name: 'folder-imports-are-listed',
    comment: `of the folders of its app, ${name} may import ${allowed} (FOLDER_IMPORTS)`,
    from: { path: `^apps/([^/]+)/src/${name}/`, pathNot: TEST_FILES },
    to: { path: '^apps/$1/src/[^/]+/', pathNot: `^apps/$1/src/(${name}|${allowed})/` },
  })),
  {
    name: 'only-oauth-folder-uses-oidc-provider',
    comment: 'only apps/auth/src/oauth imports oidc-provider',
    from: { pathNot: '^(apps/auth/src/oauth|bench/baselines)/' },
    to: { path: matchPackage('oidc-provider') },
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
    to: { path: matchPackage('ioredis') },
  },
  {
    name: 'only-resource-uses-redis',
    comment: 'redis is the Redis client of apps/resource',
    from: { pathNot: ['^(apps/resource|e2e)/', '^packages/http/.*\\.test\\.ts$'] },
    to: { path: matchPackage('redis') },
  },
  {
    name: 'only-stores-chooses-token-store',
    comment: 'stores.ts chooses one of the two token stores; other files import only their interface',
    from: { path: '^apps/', pathNot: [...TEST_FILES, '^apps/auth/src/stores\\.ts$'] },
    to: { path: '/(postgres|redis)-token-store\\.ts$' },
  },
  {
    name: 'config-is-passed-as-values',
    comment: 'settings are loaded once and passed on as plain values',
    from: {
      path: '^apps/([^/]+)/',
      pathNot: [
        ...TEST_FILES,
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
      pathNot: [...TEST_FILES, '^packages/postgres/src/embedded/'],
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
    // The rules also apply to imports of types, which the compiler removes.
    tsPreCompilationDeps: true,
    cache: { folder: 'node_modules/.cache/dependency-cruiser', strategy: 'content' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
}
