// Signs and verifies WeChat Pay notifications with wechatpay-axios-plugin, an SDK that shares no code with ours.
// Standard input is a JSON list of requests, standard output the JSON list of their answers.

import { readFileSync } from 'node:fs';
import wechatpay from 'wechatpay-axios-plugin';

const { Aes, Formatter, Hash, Rsa, Transformer } = wechatpay;

const operations = {
  // v3: the signature is over timestamp, nonce and the body as received; the resource is AES-256-GCM.
  verifyV3({ headers, body, publicKey, apiV3Key }) {
    const message = Formatter.response(headers.timestamp, headers.nonce, body);
    if (!Rsa.verify(message, headers.signature, Rsa.from(publicKey, Rsa.KEY_TYPE_PUBLIC))) {
      return { verified: false };
    }
    const { ciphertext, nonce, associated_data: associated } = JSON.parse(body).resource;
    return { verified: true, decrypted: Aes.AesGcm.decrypt(ciphertext, apiV3Key, nonce, associated) };
  },

  signV3({ envelope, plain, apiV3Key, privateKey, timestamp, nonce, resourceNonce, associated }) {
    const body = JSON.stringify({
      ...envelope,
      resource: {
        algorithm: 'AEAD_AES_256_GCM',
        original_type: associated,
        ciphertext: Aes.AesGcm.encrypt(plain, apiV3Key, resourceNonce, associated),
        associated_data: associated,
        nonce: resourceNonce,
      },
    });
    const message = Formatter.response(timestamp, nonce, body);
    const signature = Rsa.sign(message, Rsa.from(privateKey, Rsa.KEY_TYPE_PRIVATE));
    return { headers: { timestamp, nonce, signature }, body };
  },

  // v2: an XML document with a keyed digest over its non-empty fields.
  verifyV2({ body, apiV2Key, algorithm }) {
    const fields = Transformer.toObject(body);
    return { verified: Hash.equals(Hash.sign(algorithm, fields, apiV2Key), fields.sign), fields };
  },

  signV2({ fields, apiV2Key, algorithm }) {
    return { body: Transformer.toXml({ ...fields, sign: Hash.sign(algorithm, fields, apiV2Key) }) };
  },

  // v2 refunds: no signature; the fields are AES-256-ECB under the hex MD5 of the key.
  openV2Refund({ body, apiV2Key }) {
    const sealed = Transformer.toObject(body).req_info;
    try {
      const decrypted = Aes.AesEcb.decrypt(sealed, Hash.md5(apiV2Key));
      // Another key leaves noise, which one time in 256 looks well padded.
      const verified = decrypted.startsWith('<root>');
      return verified ? { verified, decrypted, fields: Transformer.toObject(decrypted) } : { verified };
    } catch {
      return { verified: false };
    }
  },

  sealV2Refund({ envelope, fields, apiV2Key }) {
    const plain = Transformer.toXml(fields).replaceAll('xml>', 'root>');
    return { body: Transformer.toXml({ ...envelope, req_info: Aes.AesEcb.encrypt(plain, Hash.md5(apiV2Key)) }) };
  },
};

const requests = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(requests.map(({ operation, ...input }) => operations[operation](input))));
