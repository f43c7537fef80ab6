// Signs and verifies Alipay notifications with alipay-sdk, Alipay's own SDK for Node, which shares no code with ours.
// Standard input is a JSON list of requests, standard output the JSON list of their answers.

import { File } from 'node:buffer';
import { readFileSync } from 'node:fs';

// The SDK's HTTP client looks for this name when it is loaded, and Node 18, which Debian 12 has, lacks it.
globalThis.File ??= File;
const { AlipaySdk } = await import('alipay-sdk');
// The SDK exports no signing of notifications, because only Alipay does that; this is its RSA2 primitive.
const { signatureV3 } = await import('./node_modules/alipay-sdk/dist/esm/util.js');

function client(publicKey) {
  // The application's own key is required by the constructor and plays no part in notifications.
  return new AlipaySdk({ appId: 'interop', privateKey: 'unused', alipayPublicKey: publicKey });
}

const operations = {
  verify({ body, publicKey }) {
    const fields = Object.fromEntries(new URLSearchParams(body));
    return { verified: client(publicKey).checkNotifySignV2(fields), fields };
  },

  sign({ fields, privateKey, publicKey }) {
    const content = Object.keys(fields).sort().map((name) => `${name}=${fields[name]}`).join('&');
    const signed = { ...fields, sign_type: 'RSA2', sign: signatureV3(content, privateKey) };
    if (!client(publicKey).checkNotifySignV2(signed)) {
      throw new Error('the SDK does not accept what was just signed');
    }
    return { body: new URLSearchParams(signed).toString() };
  },
};

const requests = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(requests.map(({ operation, ...input }) => operations[operation](input))));
