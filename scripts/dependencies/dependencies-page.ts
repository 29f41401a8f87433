import type { Repository } from '../repository.ts'
import { type DirectDependency, directDependencies } from './direct-dependencies.ts'
import { MINIMUM_VERSIONS } from './minimum-versions.ts'
import { REASONS } from './reasons.ts'

export const DEPENDENCIES_PAGE = 'docs/dependencies.md'

/** Every package that is named by us, what it is for and why it is that one. */
export function dependenciesPage(repository: Repository): string {
  const all = directDependencies(repository)
  const inOrder = Object.keys(REASONS).flatMap((name) => all.find((each) => each.name === name) ?? [])
  return `# Dependencies

Made from the manifests and \`scripts/dependencies/reasons.ts\` by \`npm run generate\`. Versions are exact; what they bring along is in
\`pnpm-lock.yaml\`, with a hash each. \`npm run sbom\` writes the whole as CycloneDX (\`sbom.json\`), \`npm run check\` holds every licence to a list, and
[SECURITY.md](../SECURITY.md#supply-chain) has the rules for taking one in.

## In the apps

${table(inOrder.filter(({ runs }) => runs))}

## On a developer’s machine and in tests

${table(inOrder.filter(({ runs }) => !runs))}

## Not below

\`scripts/check-minimum-versions.ts\` holds every locked version to these, also of packages that others bring along and of those
that may come. A new advisory is a line in \`scripts/dependencies/minimum-versions.ts\`.

| package | at least | what older ones have |
|---|---|---|
${MINIMUM_VERSIONS.map(({ name, version, because }) => `| \`${name}\` | ${version} | ${because} |`).join('\n')}
`
}

const table = (dependencies: readonly DirectDependency[]) =>
  [
    '| package | version | for | why this one |',
    '|---|---|---|---|',
    ...dependencies.map(({ name, version }) => {
      const reason = REASONS[name]
      return `| \`${name}\` | ${version} | ${reason?.for ?? ''} | ${reason?.why ?? ''} |`
    }),
  ].join('\n')
