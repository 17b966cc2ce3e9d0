// Counts the scenarios of a conformance run, and fails if a result differs from the baseline.
//
// A scenario passes only without failures and warnings; the suite itself reports a scenario with warnings as passed.
// A scenario whose only failures are individually listed checks is counted separately.
//
//   conformance_results.mjs RESULTS BASELINE

import { readdirSync, readFileSync } from 'node:fs';

const [results, baselineFile] = process.argv.slice(2);
const entries = readFileSync(baselineFile, 'utf8').matchAll(/^\s*- ([^\s#]+)/gm);
const baseline = new Set([...entries].map((entry) => entry[1]));
const unused = new Set(baseline);
const count = { passed: 0, partly: 0, excluded: 0 };
let faults = 0;

for (const directory of readdirSync(results).sort()) {
  // `server-SCENARIO-2026-01-01T00-00-00-000Z`
  const scenario = directory.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
  const checks = JSON.parse(readFileSync(`${results}/${directory}/checks.json`, 'utf8'));
  const bad = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
  if (baseline.has(scenario)) {
    count.excluded += 1;
    if (bad.length > 0) unused.delete(scenario);
    continue;
  }
  const listed = bad.filter((check) => unused.delete(`${scenario}:${check.id}`) || baseline.has(`${scenario}:${check.id}`));
  for (const check of bad.filter((check) => !listed.includes(check))) {
    faults += 1;
    console.error(`${scenario}: ${check.id}: ${check.status}: ${check.errorMessage ?? check.description}`);
    if (check.details) console.error(`  ${JSON.stringify(check.details).slice(0, 1500)}`);
  }
  if (bad.length === 0) count.passed += 1;
  else if (listed.length === bad.length) count.partly += 1;
}
for (const entry of unused) {
  faults += 1;
  console.error(`${entry} is listed in ${baselineFile} but does not fail. Remove it from the list.`);
}
const partly = count.partly > 0 ? `, ${count.partly} in part` : '';
console.log(`${count.passed} scenarios passed${partly}, ${count.excluded} do not apply`);
process.exit(faults > 0 || count.passed === 0 ? 1 : 0);
