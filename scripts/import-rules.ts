export interface ImportRule {
  /** The files it binds. */
  readonly files: RegExp
  /** Those among them that it leaves alone. */
  readonly except?: RegExp
  /** What they may not import: a path from the root, or the name of a package. */
  readonly forbid: RegExp
  /** Importing nothing but types is fine. */
  readonly typesAllowed?: true
  readonly because: string
}

/** Files that exist for tests alone. */
export const TEST_FILE = /\.(test|contract|fixture)\.ts$|^(apps|packages)\/[^/]+\/test\/|\/testing\/|^e2e\//

/** The workspace's own packages, and what of it each may import. A package that is not named here may import none. */
export const PACKAGE_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  commands: [],
  domain: [],
  metadata: ['domain'],
  guides: ['domain'],
  http: ['domain', 'tracing'],
  mail: ['domain', 'postgres', 'sealing'],
  pages: ['domain'],
  postgres: ['tracing'],
  revocation: [],
  sealing: [],
  tracing: [],
}

export const IMPORT_RULES: readonly ImportRule[] = [
  {
    files: /^packages\/domain\//,
    except: TEST_FILE,
    forbid: /^(?!zod$|node:url$|packages\/domain\/)/,
    because: 'the domain knows no technology but zod, and node:url for the names of hosts',
  },
  {
    files: /^(packages|scripts)\//,
    forbid: /^(apps|e2e)\/|^@plainpath\/(auth|resource|local|e2e)(\/|$)/,
    because: 'packages serve the apps, not the reverse',
  },
  {
    files: /^apps\/auth\//,
    forbid: /^apps\/(resource|local)\/|^@plainpath\/(resource|local|e2e)(\/|$)/,
    because: 'the two apps meet over HTTP only',
  },
  {
    files: /^apps\/resource\//,
    forbid: /^apps\/(auth|local)\/|^@plainpath\/(auth|local|e2e)(\/|$)/,
    because: 'the two apps meet over HTTP only',
  },
  {
    files: /./,
    except: /^(apps\/auth\/src\/oauth|bench\/baselines)\//,
    forbid: /^oidc-provider(\/|$)/,
    because: 'one folder knows the library: apps/auth/src/oauth',
  },
  {
    files: /./,
    forbid: /^oidc-provider\/|(^|\/)node_modules\/oidc-provider\//,
    because: 'the inside of oidc-provider may change in any release: what it exports by its name is enough',
  },
  {
    files: /./,
    except: /^(apps\/auth|bench)\/|^(?=packages\/http\/).*\.test\.ts$|^e2e\//,
    forbid: /^ioredis(\/|$)/,
    because: 'ioredis is the client of apps/auth',
  },
  {
    files: /./,
    except: /^apps\/resource\/|^(?=packages\/http\/).*\.test\.ts$|^e2e\//,
    forbid: /^redis(\/|$)/,
    because: 'redis is the client of apps/resource',
  },
  {
    files: /^apps\//,
    except: new RegExp(
      `/src/(wire|wire/wire-[a-z-]+)\\.ts$|/(postgres|redis)-[a-z-]+\\.ts$|${TEST_FILE.source}`,
    ),
    forbid: /^apps\/.*\/(postgres|redis)-[a-z-]+\.ts$/,
    because: 'a store is chosen in wire.ts; everybody else knows its interface',
  },
  {
    files: /^apps\//,
    except: new RegExp(
      `/src/(main|cli|app|serve|wire|wire/wire-[a-z-]+)\\.ts$|-command\\.ts$|${TEST_FILE.source}`,
    ),
    forbid: /^apps\/[^/]+\/src\/config\.ts$/,
    because: 'settings are read once and handed on as plain values',
  },
  {
    files: /^apps\/[^/]+\/src\/(app|serve|wire|wire\/wire-[a-z-]+)\.ts$/,
    forbid: /^apps\/[^/]+\/src\/config\.ts$/,
    typesAllowed: true,
    because: 'wire.ts and app.ts are given the settings; main.ts and the command line read them',
  },
]

/** Folders of one app that may import another folder of it. All others do not know of each other. */
export const FOLDER_EXCEPTIONS: readonly { from: RegExp; to: RegExp; because: string }[] = [
  {
    from: /^apps\/[^/]+\/src\/wire\//,
    to: /./,
    because: 'wire/ holds the parts of wire.ts',
  },
  {
    from: /^apps\/auth\/src\/oauth\//,
    to: /^apps\/auth\/src\/(assertions|clients|keys|resource-servers|tokens)\//,
    because: 'oauth/ gives oidc-provider our clients, keys, resource servers, tokens and assertions',
  },
  {
    from: /^apps\/auth\/src\/assertions\//,
    to: /^apps\/auth\/src\/keys\//,
    because: 'assertions/ are signed with the keys of the ring',
  },
  {
    from: /^apps\/resource\/src\/pages\//,
    to: /^apps\/resource\/src\/(contact|guides|waitlist)\//,
    because: 'pages/ shows the guides of the catalog, and its forms join the waitlist and write to the desk',
  },
  {
    from: /^apps\/resource\/src\/mcp\//,
    to: /^apps\/resource\/src\/(contact|guides|waitlist)\//,
    because: 'mcp/ offers as tools what the routes of contact/, guides/ and waitlist/ do',
  },
  {
    from: /^apps\/resource\/src\/contact\//,
    to: /^apps\/resource\/src\/auth\//,
    because: 'contact/ answers to the address that the token stands for',
  },
  {
    from: /^apps\/[^/]+\/src\/commands\//,
    to: /./,
    because: 'commands/ is the command line, which reaches into each folder',
  },
]
